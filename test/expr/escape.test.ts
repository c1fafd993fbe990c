/**
 * Sources that try to reach the host, or to keep it busy. Each ends in a plain value or in an error with a stable code;
 * nothing of the host is run, read or changed; and memory and event loop stay within limits, in a separate process.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { buildIfStale } from '../../scripts/setup.mjs'
import { playbookAttempts, reachAttempts } from './escapes-reach.ts'
import { workAttempts } from './escapes-work.ts'

/** The engine's, inside a transaction, and the worker's, which is larger. */
const BUDGETS = [{}, { steps: 50_000, bytes: 8 * 1024 * 1024 }]
/** Processor time for one evaluation with each budget. Without budgets many take minutes. */
const MOST_CPU_MS = [400, 1500]
/**
 * Between two turns of the event loop. This includes other processes, so it is wider than the limit of processor time.
 */
const MOST_DELAY_MS = 8000
/** Peak resident memory, for all attempts together. */
const MOST_MB = 400
const MOST_KEPT_MB = 40

interface Tried {
  readonly names: string
  readonly source: string
  /** Which of BUDGETS. */
  readonly budget: number
  /** 0: as a template. 1: as a condition. */
  readonly door: number
  readonly ends: string
  readonly cpuMs: number
  readonly grownMb: number
}

interface Verdict {
  readonly tried: readonly Tried[]
  readonly delayMs: number
  readonly grownMb: number
  /** Memory still held at the end. */
  readonly keptMb: number
  readonly touched: { readonly [what: string]: unknown }
}

const groups = [
  ...Object.entries({ ...reachAttempts, ...workAttempts }).map(([what, attempts]) => ({
    what,
    names: 'net',
    attempts,
  })),
  { what: 'the names of playbooks', names: 'playbook', attempts: playbookAttempts },
]

function run(): Verdict {
  const cwd = mkdtempSync(join(tmpdir(), 'petrel-escape-'))
  try {
    const program = fileURLToPath(new URL('escape-child.mjs', import.meta.url))
    const child = spawnSync(process.execPath, ['--expose-gc', program], {
      cwd,
      input: JSON.stringify({
        budgets: BUDGETS,
        groups: groups.map(({ names, attempts }) => ({ names, attempts: attempts.map(([source]) => source) })),
      }),
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      timeout: 540_000,
    })
    if (child.status !== 0) throw new Error(`the process ended with ${child.status ?? child.signal}: ${child.stderr}`)
    return JSON.parse(child.stdout) as Verdict
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}

describe('attempts to escape', () => {
  let verdict: Verdict
  beforeAll(() => {
    buildIfStale()
    verdict = run()
  }, 600_000)

  it('are many, and all different', () => {
    const sources = groups.flatMap(({ names, attempts }) => attempts.map(([source]) => `${names} ${source}`))
    expect(sources.length).toBeGreaterThanOrEqual(150)
    expect(new Set(sources).size).toBe(sources.length)
  })

  it.each(groups)('end as required: $what', ({ names, attempts }) => {
    const ends = attempts.flatMap(([source]) =>
      triedWith(names, source, 0).map((one) => [short(source), one.budget, one.ends]),
    )
    expect(ends).toEqual(
      attempts.flatMap(([source, expected]) => BUDGETS.map((_budget, at) => [short(source), at, expected])),
    )
  })

  it.each(groups)('end the same as conditions: $what', ({ names, attempts }) => {
    for (const [source, expected] of attempts) {
      for (const { ends } of triedWith(names, source, 1)) expect(asCondition(expected), short(source)).toContain(ends)
    }
  })

  it('run nothing, read nothing and change nothing of the host', () => {
    expect(verdict.touched).toEqual({
      ran: [],
      asked: [],
      calls: 0,
      changed: false,
      loaded: [],
      files: [],
      resources: [],
      given: true,
    })
  })

  it('take little memory, and release it', () => {
    const most = verdict.tried
      .filter(({ grownMb }) => grownMb > MOST_MB / 10)
      .map((one) => [short(one.source), one.grownMb])
    expect(verdict.grownMb, JSON.stringify(most)).toBeLessThan(MOST_MB)
    expect(verdict.keptMb).toBeLessThan(MOST_KEPT_MB)
  })

  it('block the event loop only briefly', () => {
    const slow = verdict.tried.filter(({ cpuMs, budget }) => cpuMs > MOST_CPU_MS[budget]!)
    expect(slow.map((one) => [short(one.source), one.cpuMs])).toEqual([])
    expect(verdict.delayMs).toBeLessThan(MOST_DELAY_MS)
  })

  function triedWith(names: string, source: string, door: number): readonly Tried[] {
    return verdict.tried.filter((one) => one.names === names && one.source === source && one.door === door)
  }
})

/**
 * The result of the same source as a condition: its truth, or its error. A value that is not JSON can still be true.
 */
function asCondition(ends: string): readonly string[] {
  if (ends.startsWith('expr_')) return ends === 'expr_value' || ends === 'expr_budget' ? [ends, 'true'] : [ends]
  const value = JSON.parse(ends)
  const empty = typeof value === 'object' && value !== null && Object.keys(value).length === 0
  return [String(Boolean(value) && !empty)]
}

function short(source: string): string {
  return source.length <= 120 ? source : `${source.slice(0, 80)}… (${source.length})`
}
