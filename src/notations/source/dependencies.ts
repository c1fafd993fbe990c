/** Dependencies between steps, and those that can never be met. */

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

/** Dependencies on steps that do not exist are left out. Linear in steps and dependencies; nothing recurses. */
export function findStuck(steps: readonly Waiting[]): Stuck {
  const names = new Set(steps.map((s) => s.name))
  const known = new Map(steps.map((s) => [s.name, s.dependsOn.filter((d) => names.has(d))]))
  const stuck = neverReady(known)
  const waitsFor = (name: string): string => known.get(name)?.find((d) => stuck.has(d)) as string
  const cycles: (readonly string[])[] = []
  const onCycle = new Set<string>()
  const walkOf = new Map<string, number>()
  // Every stuck step waits for a stuck one: following these ends in a cycle, or in steps visited before.
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

/** The steps left when everything that can run has run, in the order of the file. */
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

/**
 * Which steps have ended before which. Computed at the first request, all at once, a bit for each pair: ten thousand
 * steps take 12 MB and some milliseconds, whereas a search for each would take minutes. The steps must have no cycle.
 */
export class Ancestors {
  readonly #steps: readonly Waiting[]
  readonly #index: ReadonlyMap<string, number>
  readonly #words: number
  #bits: Uint32Array | null = null

  constructor(steps: readonly Waiting[]) {
    this.#steps = steps
    this.#index = new Map(steps.map((s, i) => [s.name, i]))
    this.#words = Math.ceil(steps.length / 32)
  }

  has(step: string, before: string): boolean {
    const at = this.#index.get(before) as number
    const row = (this.#index.get(step) as number) * this.#words
    return ((this.#all()[row + (at >>> 5)] as number) & (1 << (at & 31))) !== 0
  }

  /** In the order of the file. */
  of(step: string): readonly string[] {
    return this.#steps.map((s) => s.name).filter((name) => this.has(step, name))
  }

  #all(): Uint32Array {
    if (this.#bits !== null) return this.#bits
    const bits = new Uint32Array(this.#steps.length * this.#words)
    for (const i of this.#inOrder()) {
      const row = i * this.#words
      for (const d of this.#dependencies(i)) {
        const from = d * this.#words
        for (let w = 0; w < this.#words; w++) bits[row + w] = (bits[row + w] as number) | (bits[from + w] as number)
        bits[row + (d >>> 5)] = (bits[row + (d >>> 5)] as number) | (1 << (d & 31))
      }
    }
    this.#bits = bits
    return bits
  }

  #dependencies(i: number): readonly number[] {
    return (this.#steps[i] as Waiting).dependsOn.map((d) => this.#index.get(d) as number)
  }

  /** Each after all its dependencies. */
  #inOrder(): readonly number[] {
    const after: number[][] = this.#steps.map(() => [])
    const missing = this.#steps.map((s) => s.dependsOn.length)
    for (const i of this.#steps.keys()) for (const d of this.#dependencies(i)) (after[d] as number[]).push(i)
    const order = [...this.#steps.keys()].filter((i) => missing[i] === 0)
    // The list grows during the loop.
    for (const i of order) {
      for (const next of after[i] as number[]) {
        missing[next] = (missing[next] as number) - 1
        if (missing[next] === 0) order.push(next)
      }
    }
    return order
  }
}
