/** The same sources evaluated by Jinja2 and by Petrel. Differences must be in the list of differences. */
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { filters } from '../../src/expr/builtins/filters.ts'
import { functions } from '../../src/expr/builtins/functions.ts'
import { methods } from '../../src/expr/builtins/methods.ts'
import { tests } from '../../src/expr/builtins/tests.ts'
import { type Difference, differences, type Met } from './differences.ts'
import { generate, scope } from './generated.ts'
import { type Answer, askJinja2, python, type Source } from './jinja2.ts'
import { answerOf } from './petrel.ts'
import { shown } from './shown.ts'

const SEED = Number(process.env['PETREL_EXPR_SEED'] ?? 20_260_101)
const RUNS = Number(process.env['PETREL_EXPR_RUNS'] ?? 1200)
const inCI = !['', '0', 'false', undefined].includes(process.env['CI'])

const written = readFileSync(new URL('cases.txt', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('# '))

if (python === null)
  console.warn('NOT TESTED against Jinja2: no Python here has it (Debian: apt-get install python3-jinja2).')

function sourceOf(source: string): Source {
  return { kind: /\{[{%#]/.test(source) && !source.startsWith("'") ? 'text' : 'value', source }
}

/** The same as a template, whose value keeps its type. */
function nativeOf({ kind, source }: Source): Source {
  return { kind: 'native', source: kind === 'text' ? source : `{{ ${source} }}` }
}

/** Both fail, or both give the same value of the same type, or the same text. */
function agree(ours: Answer, theirs: Answer): boolean {
  if ('error' in ours && 'error' in theirs) return true
  if ('json' in ours && 'json' in theirs) return isDeepStrictEqual(asJson(ours.json), asJson(theirs.json))
  return JSON.stringify(ours) === JSON.stringify(theirs)
}

/** JSON has no -0. */
function asJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

function meet(sources: readonly Source[]): Met[] {
  const theirs = askJinja2(scope, sources).answers
  return sources.map((asked, at) => ({ ...asked, ours: answerOf(asked, scope), jinja2: theirs[at]! }))
}

interface Compared {
  readonly agreed: number
  readonly unlisted: readonly Met[]
}

function compare(sources: readonly Source[]): Compared {
  const met = meet(sources)
  const differing = met.filter(({ ours, jinja2 }) => !agree(ours, jinja2))
  return {
    agreed: met.length - differing.length,
    unlisted: differing.filter((one) => !differences.some(({ explains }) => explains?.(one))),
  }
}

/** All examples in one process: starting Python takes longer than evaluating them. */
function metInAll(): ReadonlyMap<Difference, readonly Met[]> {
  const asked = differences.map(({ examples, kind }) =>
    examples.map(({ source }): Source => (kind === undefined ? sourceOf(source) : { kind, source })),
  )
  const met = meet(asked.flat())
  return new Map(differences.map((difference) => [difference, met.splice(0, difference.examples.length)]))
}

// In CI a missing Jinja2 is a failure, not a reason to skip.
describe.skipIf(python === null && !inCI)('evaluated by Jinja2 and by Petrel', () => {
  it('sources written by hand agree', () => {
    expect(written.length).toBeGreaterThan(900)
    const { unlisted, agreed } = compare(written.map(sourceOf))
    expect(unlisted).toEqual([])
    expect(agreed).toBeGreaterThan(written.length * 0.95)
  }, 120_000)

  it('sources written by hand agree as templates that keep their type', () => {
    expect(compare(written.map(sourceOf).map(nativeOf)).unlisted).toEqual([])
  }, 120_000)

  it(`random sources agree (PETREL_EXPR_SEED=${SEED} PETREL_EXPR_RUNS=${RUNS})`, () => {
    const sources = generate({ seed: SEED, runs: RUNS })
    expect(sources.length).toBeGreaterThanOrEqual(500)
    const kinds = ['value', 'text', 'native'] as const
    const asked = sources.map((source, at): Source => {
      const kind = kinds[at % kinds.length]!
      return { kind, source: kind === 'value' ? source : `{{ ${source} }}` }
    })
    const { unlisted, agreed } = compare(asked)
    expect(unlisted).toEqual([])
    expect(agreed).toBeGreaterThan(asked.length * 0.9)
    // Most of them must give a value: two errors agree too easily.
    const values = asked.filter((source) => !('error' in answerOf(source, scope)))
    expect(values.length).toBeGreaterThan(asked.length * 0.6)
  }, 120_000)

  let examplesMet: ReadonlyMap<Difference, readonly Met[]> | null = null
  it.each(differences)('is a listed difference: $what', (difference) => {
    const { examples, explains } = difference
    examplesMet ??= metInAll()
    const met = examplesMet.get(difference)!
    expect(met.map(({ source, ours, jinja2 }) => ({ source, ours: shown(ours), jinja2: shown(jinja2) }))).toEqual(
      examples,
    )
    expect(examples.length).toBeGreaterThan(0)
    for (const { source, ours, jinja2 } of met) expect(agree(ours, jinja2), source).toBe(false)
    if (explains !== undefined) expect(met.some(explains)).toBe(true)
  })

  it('everything Jinja2 has exists here too, or is in the list of differences', () => {
    const { names } = askJinja2(scope, [])
    const sources = differences.flatMap(({ examples }) => examples.map(({ source }) => source)).join('\n')
    const silent = (theirs: readonly string[], ours: object, pattern: (name: string) => RegExp) =>
      theirs.filter((name) => !Object.hasOwn(ours, name) && !pattern(name).test(sources))
    expect(silent(names.filters, filters, (name) => new RegExp(`\\|\\s*${name}\\b`))).toEqual([])
    expect(silent(names.tests, tests, (name) => new RegExp(`is ${name}\\b`))).toEqual([])
    expect(silent(names.globals, functions, (name) => new RegExp(`\\b${name}\\(`))).toEqual([])
  })
})

describe('the sources written by hand', () => {
  const all = written.join('\n')
  const unused = (names: readonly string[], pattern: (name: string) => RegExp) =>
    names.filter((name) => !pattern(name).test(all))
  const literal = (name: string) => name.replace(/[^\w]/g, '\\$&')

  it('use every filter, test, function and method', () => {
    expect(unused(Object.keys(filters), (name) => new RegExp(`\\|\\s*${name}\\b`))).toEqual([])
    expect(
      unused(Object.keys(tests), (name) => new RegExp(`is (not )?${literal(name)}(?!\\w)|'${literal(name)}'`)),
    ).toEqual([])
    // Jinja2 cannot evaluate what it does not have.
    expect(unused(Object.keys(functions), (name) => new RegExp(`\\b${name}\\(`))).toEqual(['now', 'token'])
    expect(unused(Object.keys(methods), (name) => new RegExp(`\\.${name}\\(`))).toEqual([])
  })

  it('use every operator', () => {
    const operators = '+ - * / // % ** ~ == != < <= > >= in not|in is is|not and or not if'
      .split(' ')
      .map((operator) => operator.replace('|', ' '))
    expect(operators.filter((operator) => !all.includes(` ${operator} `) && !all.includes(`${operator} `))).toEqual([])
  })
})

describe('what published playbooks use', () => {
  const filtersUsed =
    'int default tojson replace length lower string first join b64encode b64decode fromjson float upper trim split last keys values items get safe'
  it('exists', () => {
    expect(filtersUsed.split(' ').filter((name) => !Object.hasOwn(filters, name))).toEqual([])
    expect(['defined', 'undefined', 'none'].filter((name) => !Object.hasOwn(tests, name))).toEqual([])
    expect(['now', 'token', 'range'].filter((name) => !Object.hasOwn(functions, name))).toEqual([])
  })
})
