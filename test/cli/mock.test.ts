import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { HANDLERS, shell } from './petrel.ts'

const sh = shell()
let files = 0

interface Step {
  readonly at_ms: number
  readonly node: string | null
  readonly item: number | null
  readonly role: string | null
  readonly type: string | null
  readonly attempt: number | null
  readonly outcome: string
  readonly detail: string | null
}

/** Result of a dry run of this text; the trace as `node outcome@seconds`. */
async function dry(definition: string, outcomes?: string, ...more: readonly string[]) {
  const n = ++files
  const file = sh.write(`flow-${n}.yaml`, definition)
  const mock = outcomes === undefined ? ['--mock'] : ['--mock', sh.write(`outcomes-${n}.yaml`, outcomes)]
  const ended = await sh.petrel('run', file, ...mock, '--json', ...more)
  const answer = ended.out === '' ? null : ended.json()
  const trace: readonly Step[] = answer?.trace ?? []
  const lines = trace
    .filter((s) => s.node !== null)
    .map(
      (s) =>
        `${s.role === 'undo' ? 'undo ' : ''}${s.node}${s.item === null ? '' : `[${s.item}]`} ${s.outcome}@${Math.round(s.at_ms / 1000)}`,
    )
  return { ...ended, answer, trace, lines }
}

const NET = 'kind: Net\nversion: 1\nname: flow\n'

describe('petrel run --mock', () => {
  it('returns the input as the result of each step, writes to no store, and prints every step', async () => {
    const { code, answer, lines } = await dry(
      `${NET}input: { n: 7 }\nnodes:\n  a: { run: t.a, args: { n: '{{ input.n }}' }, next: b }\n  b: { run: t.b, args: { before: '{{ a }}' } }\n`,
    )
    expect(code).toBe(0)
    expect(answer.instance).toMatchObject({ name: 'flow', state: 'completed', outcome: 'success' })
    expect(answer.results).toEqual({ a: { n: 7 }, b: { before: { n: 7 } } })
    expect(lines).toEqual(['a succeeded@0', 'b succeeded@0'])
    expect(existsSync(join(sh.dir, '.petrel'))).toBe(false)
  })

  it('retries after the backoff, without waiting for it', async () => {
    const { code, lines, ms } = await dry(
      `${NET}nodes:\n  pay: { run: t.pay, retry: { maxAttempts: 4, initial: 10m, max: 1d, jitter: 0 } }\n`,
      'pay:\n  - error: busy\n  - error: busy\n  - error: busy\n',
    )
    expect(code).toBe(0)
    expect(lines).toEqual(['pay retrying@0', 'pay retrying@600', 'pay retrying@1800', 'pay succeeded@4200'])
    expect(ms).toBeLessThan(20_000)
  })

  it('fails with exit code 1 when the attempts are used up, and at once when the error is not retryable', async () => {
    const used = await dry(
      `${NET}nodes:\n  pay: { run: t.pay, retry: 2 }\n`,
      't.pay: { error: { code: declined, message: card declined } }',
    )
    expect(used.code).toBe(1)
    expect(used.answer).toMatchObject({
      instance: { state: 'failed' },
      error: { code: 'declined', message: 'card declined' },
    })
    const once = await dry(
      `${NET}nodes:\n  pay: { run: t.pay, retry: 5 }\n`,
      'pay: { error: { message: no, retryable: false } }',
    )
    expect(once.lines).toEqual(['pay failed@0', 'pay stopping@0'])
  })

  it('stops work that takes longer than its timeout', async () => {
    const { code, lines, answer } = await dry(
      `${NET}nodes:\n  slow: { run: t.slow, timeout: 30s, retry: { maxAttempts: 2, initial: 1m, jitter: 0 } }\n`,
      'slow:\n  - delay: 2h\n  - delay: 20s\n    result: done\n',
    )
    expect(code).toBe(0)
    expect(lines).toEqual(['slow retrying@30', 'slow succeeded@110'])
    expect(answer.results).toEqual({ slow: 'done' })
  })

  it('runs concurrent delays in parallel, each for its own duration', async () => {
    const { lines } = await dry(
      `${NET}nodes:\n  all: { each: { items: [1, 2, 3], run: t.item, args: '{{ item }}' } }\n`,
      'all[0]: { delay: 3h }\nall[1]: { delay: 1h }\nall[2]: { delay: 2h }\n',
    )
    expect(lines).toEqual(['all[1] succeeded@3600', 'all[2] succeeded@7200', 'all[0] succeeded@10800'])
  })

  it('starts a delayed run, and ends one at its deadline, at the right time', async () => {
    const delayed = await dry(`${NET}nodes:\n  a: { run: t.a, delay: 1d }\n`)
    expect(delayed.lines).toEqual(['a succeeded@86400'])
    const late = await dry(`${NET}timeout: 1h\nnodes:\n  a: { run: t.a, delay: 1d }\n`)
    expect(late.code).toBe(1)
    expect(late.answer.instance).toMatchObject({ state: 'failed', outcome: 'timed_out' })
  })

  describe('gates', () => {
    const gated = `${NET}nodes:\n  ask: { gate: { title: Sure?, timeout: 3d }, next: go }\n  go: { run: t.go }\n`

    it('are approved unless the outcomes file has another answer', async () => {
      const { code, lines } = await dry(gated)
      expect(code).toBe(0)
      expect(lines).toEqual(['ask waiting@0', 'ask approved@0', 'go succeeded@0'])
    })

    it('can be rejected, answered later, or never answered', async () => {
      const refused = await dry(gated, 'ask: rejected')
      expect(refused.code).toBe(1)
      expect(refused.lines.slice(0, 2)).toEqual(['ask waiting@0', 'ask rejected@0'])
      const later = await dry(gated, 'ask: { after: 2d }')
      expect(later.lines).toEqual(['ask waiting@0', 'ask approved@172800', 'go succeeded@172800'])
      const unanswered = await dry(gated, 'ask: timeout')
      expect(unanswered.code).toBe(1)
      expect(unanswered.lines.slice(0, 2)).toEqual(['ask waiting@0', 'ask rejected@259200'])
    })

    it('without an answer or a timeout are named, with exit code 1', async () => {
      const { code, answer } = await dry(
        `${NET}nodes:\n  ask: { gate: Sure?, next: go }\n  go: { run: t.go }\n`,
        'ask: timeout',
      )
      expect(code).toBe(1)
      expect(answer.instance.state).toBe('waiting')
      expect(answer.waiting_for).toMatchObject([{ kind: 'gate', node: 'ask' }])
    })
  })

  it('undoes completed steps, newest first', async () => {
    const { code, answer, lines } = await dry(
      `${NET}onFailure: compensate\nnodes:\n  a: { run: t.a, undo: t.undo, next: b }\n  b: { run: t.b, undo: t.undo, next: c }\n  c: { run: t.c, retry: 1 }\n`,
      'c: { error: no }\nb.undo: { delay: 1m }\n',
    )
    expect(code).toBe(1)
    expect(answer.instance.state).toBe('compensated')
    expect(lines.filter((s) => s.startsWith('undo'))).toEqual(['undo b succeeded@60', 'undo a succeeded@60'])
  })

  it('names a held token that it waits for', async () => {
    const { code, answer, out } = await dry(`${NET}nodes:\n  a: { run: t.a, admit: ctx.ready }\n`)
    expect(code).toBe(1)
    expect(answer.waiting_for, out).toMatchObject([{ kind: 'held', node: 'a' }])
  })

  it('partial does not count as success: exit code 1', async () => {
    const { code, answer } = await dry(
      `${NET}verdict: { failedOn: any, partial: true }\nnodes:\n  a: { run: t.a, retry: 1, onFailure: skip, next: b }\n  b: { run: t.b }\n`,
      'a: { error: no }',
    )
    expect(answer.instance).toMatchObject({ state: 'completed', outcome: 'partial' })
    expect(code).toBe(1)
  })

  it('runs the given handlers, and mocks the other types', async () => {
    const handlers = sh.write('handlers.mjs', HANDLERS)
    const { code, answer } = await dry(
      'type: chain\nname: mixed\nsteps:\n  - { type: test.echo, args: [1] }\n  - { type: other.type, args: [2] }\n',
      'other.type: { result: stand-in }',
      '--handlers',
      handlers,
    )
    expect(code).toBe(0)
    expect(answer.results).toEqual({ 0: [1], 1: 'stand-in' })
  })

  it('dry-runs a chain with a group inside', async () => {
    const { code, trace } = await dry(
      'type: chain\nname: nested\nsteps:\n  - { type: t.one }\n  - type: group\n    jobs: [{ type: t.a }, { type: t.b }]\n  - { type: t.two }\n',
    )
    expect(code).toBe(0)
    expect(
      trace
        .filter((s) => s.outcome === 'succeeded')
        .map((s) => s.type)
        .sort(),
    ).toEqual(['t.a', 't.b', 't.one', 't.two'])
  })

  it('a thousand items with one retry each finish within seconds', async () => {
    const items = Array.from({ length: 1000 }, (_, i) => i).join(', ')
    const { code, answer, ms } = await dry(
      `${NET}nodes:\n  all: { each: { items: [${items}], run: t.item, args: '{{ item }}' }, retry: { maxAttempts: 2, initial: 1h, jitter: 0 } }\n`,
      't.item:\n  - error: once\n',
    )
    expect(code).toBe(0)
    expect(answer.instance.succeeded).toBe(1000)
    console.log(`1,000 items, 2,000 executions: ${Math.round(ms)} ms`)
  })

  it('prints the trace and a summary as text', async () => {
    const file = sh.write(
      'people.yaml',
      `${NET}nodes:\n  pay: { run: t.pay, retry: { maxAttempts: 2, initial: 2h, jitter: 0 } }\n`,
    )
    const { code, out } = await sh.petrel('run', file, '--mock', sh.write('once.yaml', 'pay:\n  - error: busy\n'))
    expect(code).toBe(0)
    expect(out).toMatch(/\+\d+ ms {2}pay +t\.pay +retrying {2}busy; again in 2 h\n/)
    expect(out).toMatch(/\+2 h {2}pay +t\.pay +succeeded \(attempt 2\)\n/)
    expect(out).toMatch(/^flow completed in 2 h on the skipped clock \(.* real\): 1 succeeded, 0 failed/m)
  })

  it('refuses an outcomes file with a mistake, and names the line', async () => {
    const file = sh.write('slip.yaml', `${NET}nodes:\n  pay: { run: t.pay }\n`)
    const { code, err } = await sh.petrel(
      'run',
      file,
      '--mock',
      sh.write('slips.yaml', 'pai: { error: x }\npay: { eror: x }\n'),
    )
    expect(code).toBe(2)
    expect(err).toContain("slips.yaml:1:1: pai: 'pai' is no node and no type of the definition\n  did you mean 'pay'?")
    expect(err).toContain("slips.yaml:2:8: pay.eror: an outcome has no key 'eror'\n  did you mean 'error'?")
  })
})
