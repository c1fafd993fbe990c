/** Checks the boundaries of the source by reading it. walls/rules.ts has the rules; there are no exceptions. */
import { describe, expect, it } from 'vitest'
import {
  ALLOWED,
  DASHBOARD_LAYERS,
  DASHBOARD_USES,
  ENTRY_POINTS,
  MAY_HOLD_SQL,
  MOST_FILES_OF_A_DIRECTORY,
  MOST_LINES_OF_A_FILE,
  MOST_LINES_OF_A_FUNCTION,
  NOTATION_CHECK,
  NOTATIONS,
  ONLY_IN,
  ROOTS,
  SQL,
} from './walls/rules.ts'
import { functionsOf, type Import, importsOf, type SourceFile, sourceFiles } from './walls/source.ts'

const files = sourceFiles('src')
const dashboard = sourceFiles('dashboard')
const all = [...files, ...dashboard]
const crossing = files.flatMap(importsOf).filter(({ from, to }) => directoryOf(from) !== directoryOf(to))

/**
 * The longest name in the table that contains the path; each notation is a directory, and so is a file at the root of
 * src.
 */
function directoryOf(path: string): string {
  const parts = path.split('/').slice(1)
  const notation = /^src\/(notations\/\w+)\//.exec(path)?.[1]
  for (let n = parts.length - 1; n > 0; n--) {
    const name = parts.slice(0, n).join('/')
    if (Object.hasOwn(ALLOWED, name) || name === notation) return name
  }
  return parts[0] as string
}

/** The name under which the table has the rules of a directory. */
function ruleOf(directory: string): string {
  const listed = Object.hasOwn(ALLOWED, directory) || !directory.startsWith('notations/')
  return listed ? directory : 'notations/*'
}

describe('boundaries', () => {
  it('the table of allowed imports names every directory, and no other', () => {
    const found = new Set(files.map(({ path }) => ruleOf(directoryOf(path))))
    expect([...Object.keys(ALLOWED), ...ROOTS].sort()).toEqual([...found].sort())
  })

  it('a directory imports only what it may', () => {
    const crossed = crossing.filter(({ from, to, typesOnly }) => {
      const allowed = ALLOWED[ruleOf(directoryOf(from))]
      const target = directoryOf(to)
      const usable = allowed?.values.some((name) => name === target || `src/${name}` === to)
      return allowed !== undefined && !usable && !(typesOnly && allowed.types.includes(target))
    })
    const kind = ({ typesOnly }: Import): string => (typesOnly ? 'types' : 'values')
    expect(crossed.map((found) => `${found.from} → ${directoryOf(found.to)} (${kind(found)})`)).toEqual([])
  })

  it('a directory with an entry point is entered through it', () => {
    const bypassing = crossing.filter(({ from, to }) => {
      const entryPoints = ENTRY_POINTS[directoryOf(to)]
      return entryPoints !== undefined && !entryPoints.includes(to) && !ROOTS.includes(directoryOf(from))
    })
    expect(bypassing.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
  })

  it('only the files that put parts together import what others of their directory must not', () => {
    const found = crossing.filter(({ from, to }) => {
      const files = ONLY_IN[`${directoryOf(from)} → ${directoryOf(to)}`]
      return files !== undefined && !files.includes(from)
    })
    expect(found.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
  })

  it('directories do not import each other in a cycle', () => {
    expect(cyclesOf(crossing).map((cycle) => cycle.join(' ↔ '))).toEqual([])
  })

  it('only the store contains SQL', () => {
    const found = files.filter(
      ({ path, text }) => SQL.test(text) && !MAY_HOLD_SQL.some((allowed) => path.startsWith(allowed)),
    )
    expect(found.map(({ path }) => path)).toEqual([])
  })

  it('only the notations check which notation it is', () => {
    const checks = files
      .filter(({ path }) => !path.startsWith(NOTATIONS))
      .map(({ path, text }) => [path, [...text.matchAll(NOTATION_CHECK)].length] as const)
    expectAtMost(checks, 0)
  })
})

describe('the dashboard', () => {
  const layerOf = (path: string): string => path.split('/').slice(0, -1)[1] ?? ''

  it('uses the server through its API: of src only its types, and what is made for any client', () => {
    const found = dashboard
      .flatMap(importsOf)
      .filter(({ to, typesOnly }) => to.startsWith('src/') && !typesOnly && !DASHBOARD_USES.includes(to))
    expect(found.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
  })

  it('a layer imports only those below it', () => {
    const found = dashboard.flatMap(importsOf).filter(({ from, to }) => {
      if (!to.startsWith('dashboard/') || layerOf(from) === '' || layerOf(from) === layerOf(to)) return false
      return !(DASHBOARD_LAYERS[layerOf(from)] ?? []).includes(layerOf(to))
    })
    expect(found.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
  })

  it('a page imports no other page', () => {
    const pageOf = (path: string): string | null => /^dashboard\/pages\/([\w-]+)\//.exec(path)?.[1] ?? null
    const found = dashboard
      .flatMap(importsOf)
      .filter(({ from, to }) => pageOf(from) !== null && pageOf(to) !== null && pageOf(from) !== pageOf(to))
    expect(found.map(({ from, to }) => `${from} → ${to}`)).toEqual([])
  })

  it('writes no markup from data', () => {
    const found = dashboard.filter(({ text }) => /innerHTML|insertAdjacentHTML|document\.write/.test(text))
    expect(found.map(({ path }) => path)).toEqual([])
  })
})

describe('sizes', () => {
  it(`a file has at most ${MOST_LINES_OF_A_FILE} lines`, () => {
    const lines = all.map(({ path, text }) => [path, text.split('\n').length - 1] as const)
    expectAtMost(lines, MOST_LINES_OF_A_FILE)
  })

  it(`a function has at most ${MOST_LINES_OF_A_FUNCTION} lines`, () => {
    const longest = all.map((file) => [file.path, Math.max(0, ...functionsOf(file).map(({ lines }) => lines))] as const)
    expectAtMost(longest, MOST_LINES_OF_A_FUNCTION)
  })

  it(`a directory has at most ${MOST_FILES_OF_A_DIRECTORY} source files`, () => {
    const counts = new Map<string, number>()
    for (const { path } of all) {
      const directory = path.slice(0, path.lastIndexOf('/'))
      counts.set(directory, (counts.get(directory) ?? 0) + 1)
    }
    expectAtMost([...counts], MOST_FILES_OF_A_DIRECTORY)
  })
})

describe('reading the source', () => {
  const file = (text: string): SourceFile => ({ path: 'src/engine/one.ts', text })

  it('distinguishes imports of types from imports of values', () => {
    const text = `import type { A } from '../net/a.ts'
import { type B, type C } from '../net/b.ts'
import {
  type D,
  e,
} from '../net/d.ts'
import * as all from './all.ts'
import '../net/bare.ts'
import pg from 'pg'
export type { F } from '../net/f.ts'
export { g } from '../net/g.ts'
type H = import('../net/h.ts').H
const i = await import('../net/i.ts')
`
    expect(importsOf(file(text)).map(({ to, typesOnly }) => [to, typesOnly])).toEqual([
      ['src/net/a.ts', true],
      ['src/net/b.ts', true],
      ['src/net/d.ts', false],
      ['src/engine/all.ts', false],
      ['src/net/bare.ts', false],
      ['src/net/f.ts', true],
      ['src/net/g.ts', false],
      ['src/net/h.ts', true],
      ['src/net/i.ts', false],
    ])
  })

  it('counts the lines of functions and methods, also when the parameters take several lines', () => {
    const text = `export class One {
  async two(a: number): Promise<void> {
    if (a > 1) {
      b()
    }
  }
}

function three(
  a: number,
): void {
  b()
}

const four = (): void => {
  b()
}
`
    expect(functionsOf(file(text))).toEqual([
      { line: 2, lines: 5 },
      { line: 11, lines: 3 },
      { line: 15, lines: 3 },
    ])
  })

  it('finds cycles of any length', () => {
    const edge = (from: string, to: string): Import => ({
      from: `src/${from}/a.ts`,
      to: `src/${to}/b.ts`,
      typesOnly: true,
    })
    const edges = [edge('a', 'b'), edge('b', 'c'), edge('c', 'a'), edge('c', 'd'), edge('d', 'e'), edge('e', 'd')]
    expect(cyclesOf(edges)).toEqual([
      ['a', 'b', 'c'],
      ['d', 'e'],
    ])
  })
})

function expectAtMost(found: readonly (readonly [string, number])[], most: number): void {
  expect(Object.fromEntries(found.filter(([, count]) => count > most))).toEqual({})
}

/** Sets of directories each of which reaches all others of its set. */
function cyclesOf(edges: readonly Import[]): readonly (readonly string[])[] {
  const next = new Map<string, Set<string>>()
  for (const { from, to } of edges) {
    const targets = next.get(directoryOf(from)) ?? new Set()
    next.set(directoryOf(from), targets.add(directoryOf(to)))
  }
  const reached = new Map([...next.keys()].map((name) => [name, reachableFrom(name, next)]))
  const cycles = [...reached]
    .filter(([name, from]) => from.has(name))
    .map(([name, from]) =>
      [...from]
        .filter((other) => reached.get(other)?.has(name))
        .sort()
        .join(' '),
    )
  return [...new Set(cycles)].sort().map((cycle) => cycle.split(' '))
}

function reachableFrom(start: string, next: ReadonlyMap<string, ReadonlySet<string>>): ReadonlySet<string> {
  const seen = new Set<string>()
  const open = [start]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const target of next.get(name) ?? []) {
      if (seen.has(target)) continue
      seen.add(target)
      open.push(target)
    }
  }
  return seen
}
