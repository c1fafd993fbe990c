/** Who waits for whom, and who waits for ever. */

export interface Waiting {
  readonly name: string
  readonly dependsOn: readonly string[]
}

export interface Stuck {
  /** Each as a → b → a: every step depends on the one after it. */
  readonly cycles: readonly (readonly string[])[]
  /** Steps on none of these cycles that can never run, with the dependency that never ends. */
  readonly behind: ReadonlyMap<string, string>
}

/** Dependencies on steps that are not there are left out. Linear in steps and dependencies; nothing recurses. */
export function findStuck(steps: readonly Waiting[]): Stuck {
  const names = new Set(steps.map((s) => s.name))
  const known = new Map(steps.map((s) => [s.name, s.dependsOn.filter((d) => names.has(d))]))
  const stuck = neverReady(known)
  const waitsFor = (name: string): string => known.get(name)?.find((d) => stuck.has(d)) as string
  const cycles: (readonly string[])[] = []
  const onCycle = new Set<string>()
  const walkOf = new Map<string, number>()
  // Every stuck step waits for a stuck one: following these ends in a cycle, or in steps walked over before.
  for (const [walk, start] of [...stuck].entries()) {
    const path: string[] = []
    let at = start
    for (; !walkOf.has(at); at = waitsFor(at)) {
      walkOf.set(at, walk)
      path.push(at)
    }
    if (walkOf.get(at) !== walk || path.length === 0) continue
    const cycle = path.slice(path.indexOf(at))
    for (const name of cycle) onCycle.add(name)
    cycles.push([...cycle, at])
  }
  const behind = [...stuck].filter((name) => !onCycle.has(name)).map((name) => [name, waitsFor(name)] as const)
  return { cycles, behind: new Map(behind) }
}

/** What is left when everything that can run has run, in the order of the file. */
function neverReady(known: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const dependants = new Map<string, string[]>()
  const missing = new Map<string, number>()
  for (const [name, dependsOn] of known) {
    missing.set(name, dependsOn.length)
    for (const d of dependsOn) {
      const list = dependants.get(d)
      if (list === undefined) dependants.set(d, [name])
      else list.push(name)
    }
  }
  const ready = [...known.keys()].filter((name) => missing.get(name) === 0)
  const left = new Set(known.keys())
  for (let name = ready.pop(); name !== undefined; name = ready.pop()) {
    left.delete(name)
    for (const next of dependants.get(name) ?? []) {
      const count = (missing.get(next) as number) - 1
      missing.set(next, count)
      if (count === 0) ready.push(next)
    }
  }
  return left
}

/** Every step that has ended before this one begins. */
export function ancestorsOf(name: string, dependsOn: (name: string) => readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const todo = [...dependsOn(name)]
  for (let at = todo.pop(); at !== undefined; at = todo.pop()) {
    if (found.has(at)) continue
    found.add(at)
    todo.push(...dependsOn(at))
  }
  return found
}
