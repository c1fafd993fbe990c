/** Pause of an instance: active work ends, nothing new begins, times stand still or continue; and the resume. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { PausedTimeouts } from '../../src/model/pauses/pauses.ts'
import { type GateRow, PARKED_AT, type RunRow } from '../../src/model/rows.ts'
import type { EachWork, GateWork, Net } from '../../src/net/net.ts'
import { Drive, net, node, ONCE, PLACES, run, undoBy } from './drive.ts'

const HOUR = 3_600_000
const chain = (rest: Partial<Net> = {}): Net => net([node('a', ['b']), node('b', ['c']), node('c')], rest)
const items = (count: number): EachWork => ({
  kind: 'each',
  items: `range(${count}) | list`,
  body: run('item'),
  maxInFlight: count,
  failFast: false,
  collect: 'list',
})
const gate = (rest: Partial<GateWork> = {}): GateWork => ({
  kind: 'gate',
  options: {},
  timeoutMs: null,
  onTimeout: 'reject',
  ...rest,
})

describe.each(PLACES)('pause of an instance on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    // Sweeps only when a test requests it, and sessions last as long as the clock is moved.
    d = await Drive.open(place, { pollMs: HOUR, sessionTtlMs: 1e12, heartbeatMs: HOUR })
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const pause = (id: string, timeouts: PausedTimeouts = 'stop', reason: string | null = null) =>
    d.engine.pauseInstance({ id, actor: 'ada', reason, timeouts })
  const resume = (id: string) => d.engine.unpauseInstance({ id, actor: 'bob' })
  const runs = (id: string) => d.store.read.instanceRuns({ instanceId: id, limit: 1000, after: null })
  const runAt = async (id: string, nodeKey: string): Promise<RunRow> =>
    (await runs(id)).findLast((one) => one.node === nodeKey) as RunRow
  const typesOf = async (id: string): Promise<readonly string[]> => {
    const events = await d.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 1000 })
    return events.map(({ type }) => type)
  }

  it('active work ends and is recorded, and what follows from it does not begin before the resume', async () => {
    const id = await d.start({ net: chain() })
    const a = await d.claimOne()
    const { row, pause: facts } = await pause(id, 'stop', 'the supplier is down')
    expect(row).toMatchObject({ state: 'running', paused: 'stop' })
    expect(facts).toMatchObject({ actor: 'ada', reason: 'the supplier is down', timeouts: 'stop' })
    await d.succeed(a, 7)
    expect(await d.results(id)).toMatchObject({ a: 7 })
    expect(await d.claim()).toEqual([])
    expect(await runAt(id, 'b')).toMatchObject({ status: 'pending', runAt: PARKED_AT })
    await d.pass(HOUR)
    expect(await d.claim()).toEqual([])
    await resume(id)
    expect(await d.work()).toEqual(['b', 'c'])
    expect(await d.state(id)).toBe('completed')
    expect(await d.recorded(id, 'instance.paused')).toEqual([
      { node: null, data: { reason: 'the supplier is down', timeouts: 'stop' } },
    ])
    const [ended] = await d.recorded(id, 'instance.unpaused')
    expect(Object.keys(ended?.data)).toEqual(['paused_ms'])
    expect(Math.abs(ended?.data.paused_ms - HOUR)).toBeLessThan(10_000)
    expect(await d.store.pauses.get({ kind: 'instance', key: id })).toBeNull()
  })

  it('a settle hands nothing of a paused instance to a worker that waits', async () => {
    const id = await d.start({ net: chain() })
    const a = await d.claimOne()
    await pause(id)
    d.room = 5
    const reply = await d.session.settle({
      ...{ delivery: a, reportId: 'with-next', startedAt: Date.now(), wantNext: true },
      outcome: { kind: 'succeeded', result: 'null' },
    })
    expect([reply.next ?? null, d.delivered]).toEqual([null, []])
    d.room = 0
    await resume(id)
    expect(await d.work()).toEqual(['b', 'c'])
  })

  it('runs that waited before are parked in portions and released in portions, each once', async () => {
    const id = await d.start({ net: net([node('l', ['z'], { work: items(2_300) }), node('z')]) })
    const [first] = await d.claim(1)
    await pause(id)
    expect(await d.claim()).toEqual([])
    expect(await d.store.pauses.get({ kind: 'instance', key: id })).toMatchObject({ state: 'paused' })
    await d.succeed(first as never)
    await resume(id)
    const done = await d.work()
    expect([done.length, done.at(-1)]).toEqual([2_300, 'z'])
  })

  it('nested instances are paused with their root, those that begin during the pause too', async () => {
    const inner = net([node('x', ['y']), node('y')], { name: 'inner' })
    const work = { kind: 'child', net: netHash(inner), mode: 'attached', input: null } as const
    const outer = net([node('first', [], { work }), node('a', ['second']), node('second', [], { work })], {
      entry: ['first', 'a'],
    })
    const id = await d.start({ net: outer, nets: [inner] })
    const claimed = await d.claim()
    expect(claimed.map((one) => one.node).sort()).toEqual(['a', 'x'])
    await pause(id)
    for (const one of claimed) await d.succeed(one)
    expect(await d.claim()).toEqual([])
    const children = (await d.engine.view(id))?.children ?? []
    expect(children).toHaveLength(2)
    const [child] = children
    await expect(pause(child?.id as string)).rejects.toMatchObject({ code: 'conflict', details: { root: id } })
    await resume(id)
    expect((await d.work()).sort()).toEqual(['x', 'y', 'y'])
    expect(await d.state(id)).toBe('completed')
  })

  it('times stand still: a deadline, a gate with its escalation, an expiry, a delay between attempts', async () => {
    const slow = { ...ONCE, maxAttempts: 2, initialMs: 600_000, maxMs: 600_000 }
    const options = { escalate: [{ after: HOUR / 2 }, { after: HOUR }] }
    const id = await d.start({
      net: net([node('g', [], { work: gate({ timeoutMs: 2 * HOUR, options }) }), node('a', [], { retry: slow })], {
        entry: ['g', 'a'],
        timeoutMs: 4 * HOUR,
      }),
    })
    await d.fail(await d.claimOne(), { retryable: true })
    const before = await runAt(id, 'a')
    const [opened] = (await d.store.read.openGates({ instanceId: id, limit: 1 })) as [GateRow]
    const { deadlineAt } = (await d.store.read.instance(id)) as { deadlineAt: number }
    await pause(id)
    await d.pass(100 * HOUR)
    expect(await d.state(id)).toBe('running')
    expect((await d.store.read.instance(id))?.deadlineAt).toBeNull()
    await resume(id)
    const shift = (await runAt(id, 'a')).runAt - before.runAt
    expect(Math.abs(shift - 100 * HOUR)).toBeLessThan(10_000)
    const later = (await d.store.read.gate(opened.id)) as GateRow
    expect([later.dueAt, later.escalateAt]).toEqual([(opened.dueAt ?? 0) + shift, (opened.escalateAt ?? 0) + shift])
    expect((await d.store.read.instance(id))?.deadlineAt).toBe(deadlineAt + shift)
    // The stages of an escalation keep their distance.
    await d.pass(HOUR / 2)
    expect((await d.recorded(id, 'gate.escalated')).map(({ data }) => data.stage)).toEqual([1])
    await d.pass(HOUR / 2)
    expect((await d.recorded(id, 'gate.escalated')).map(({ data }) => data.stage)).toEqual([1, 2])
    await d.pass(HOUR)
    expect((await d.store.read.gate(opened.id))?.state).toBe('rejected')
  })

  it('a second resume shifts nothing again, and times that began during the pause stood still only since then', async () => {
    const slow = { ...ONCE, maxAttempts: 2, initialMs: HOUR, maxMs: HOUR }
    const id = await d.start({ net: net([node('a', [], { retry: slow })]) })
    const a = await d.claimOne()
    await pause(id)
    await d.pass(5 * HOUR)
    await d.fail(a, { retryable: true })
    await d.pass(7 * HOUR)
    const now = await d.store.now()
    await resume(id)
    expect(Math.abs((await runAt(id, 'a')).runAt - (now + HOUR))).toBeLessThan(10_000)
    const { runAt: due } = await runAt(id, 'a')
    await expect(resume(id)).rejects.toMatchObject({ code: 'conflict', details: { paused: false } })
    await d.pass(0)
    expect((await runAt(id, 'a')).runAt).toBe(due)
  })

  it('with timeouts that run, a deadline passes during the pause, and its undo waits for the resume', async () => {
    const id = await d.start({
      net: net([node('a', ['b'], { undo: undoBy('ua') }), node('b')], { timeoutMs: HOUR, onFailure: 'compensate' }),
    })
    await d.succeed(await d.claimOne())
    await pause(id, 'run')
    await d.pass(2 * HOUR)
    expect(await d.state(id)).toBe('compensating')
    expect(await d.claim()).toEqual([])
    await resume(id)
    expect(await d.work()).toEqual(['undo a'])
  })

  it('with timeouts that run, delays between attempts run on and an expiry passes', async () => {
    const id = await d.start({ net: net([node('a', [], { work: run('a', { delayMs: HOUR }) })]) })
    const { runAt: due } = await runAt(id, 'a')
    await pause(id, 'run')
    await d.pass(2 * HOUR)
    await resume(id)
    expect((await runAt(id, 'a')).runAt).toBe(due)
    expect(await d.work()).toEqual(['a'])
  })

  it('a timeout over all attempts is longer by the pause', async () => {
    const retry = { ...ONCE, maxAttempts: 5 }
    const id = await d.start({ net: net([node('a', [], { retry, timeout: { ms: HOUR, per: 'node' } })]) })
    await d.fail(await d.claimOne(), { retryable: true })
    await pause(id)
    await d.pass(3 * HOUR)
    await resume(id)
    await d.pass(HOUR / 2)
    const again = await d.claimOne()
    expect((await runAt(id, 'a')).timeoutAt).toBeGreaterThan(await d.store.now())
    await d.succeed(again)
    expect(await d.state(id)).toBe('completed')
  })

  it('a gate is decided during the pause, and its token waits', async () => {
    const id = await d.start({ net: net([node('g', ['after'], { work: gate() }), node('after')]) })
    await pause(id)
    const [open] = (await d.store.read.openGates({ instanceId: id, limit: 1 })) as [GateRow]
    await d.engine.answerGate({ gateId: open.id, approved: true, actor: 'eve' })
    expect(await d.claim()).toEqual([])
    await resume(id)
    expect(await d.work()).toEqual(['after'])
  })

  it('a gate that opens during the pause has its time from the resume', async () => {
    const id = await d.start({ net: net([node('a', ['g']), node('g', [], { work: gate({ timeoutMs: HOUR }) })]) })
    const a = await d.claimOne()
    await pause(id)
    await d.pass(2 * HOUR)
    await d.succeed(a)
    await d.pass(2 * HOUR)
    const now = await d.store.now()
    await resume(id)
    const [open] = (await d.store.read.openGates({ instanceId: id, limit: 1 })) as [GateRow]
    expect(Math.abs((open.dueAt ?? 0) - (now + HOUR))).toBeLessThan(10_000)
  })

  it('a cancel ends the pause; a rollback undoes at once', async () => {
    const cancelled = await d.start({ net: chain() })
    await pause(cancelled)
    await d.engine.cancelInstance({ id: cancelled, actor: 'eve' })
    expect(await d.state(cancelled)).toBe('cancelled')
    expect(await d.recorded(cancelled, 'instance.unpaused')).toMatchObject([{ data: { cause: 'cancel' } }])
    const rolled = await d.start({ net: net([node('a', ['b'], { undo: undoBy('ua') }), node('b')]) })
    await d.succeed(await d.claimOne())
    await pause(rolled)
    await d.engine.cancelInstance({ id: rolled, actor: 'eve', undo: true })
    expect(await d.work()).toEqual(['undo a'])
    await d.pass(0)
    expect(await d.store.pauses.list({ tenant: null, limit: 10, before: null })).toEqual([])
  })

  it('one whose last work ends during the pause has ended, and nothing of the pause is left', async () => {
    const id = await d.start({ net: net([node('a')], { timeoutMs: HOUR }) })
    const a = await d.claimOne()
    await pause(id)
    await d.succeed(a)
    expect(await d.store.read.instance(id)).toMatchObject({ state: 'completed', paused: null, deadlineAt: null })
    await d.pass(0)
    expect(await d.store.pauses.get({ kind: 'instance', key: id })).toBeNull()
  })

  it('what cannot be paused or resumed is refused with the facts, and nothing changes', async () => {
    const id = await d.start({ net: chain() })
    await expect(resume(id)).rejects.toMatchObject({ code: 'conflict', details: { state: 'running', paused: false } })
    await pause(id, 'run', 'first')
    const facts = { by: 'ada', reason: 'first', timeouts: 'run' }
    await expect(pause(id, 'stop', 'second')).rejects.toMatchObject({ code: 'conflict', details: { paused: facts } })
    const asked = { id, actor: null, timeouts: 'stop' } as const
    await expect(d.engine.pauseInstance({ ...asked, reason: 'x'.repeat(1_001) })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    await resume(id)
    await d.work()
    await expect(pause(id)).rejects.toMatchObject({ code: 'conflict', details: { state: 'completed' } })
    await expect(pause('00000000-0000-7000-8000-000000000000')).rejects.toMatchObject({ code: 'not_found' })
    expect((await typesOf(id)).filter((type) => type.includes('pause'))).toEqual([
      'instance.paused',
      'instance.unpaused',
    ])
  })

  it('a run that its worker gives back waits too', async () => {
    const id = await d.start({ net: net([node('a', ['b']), node('b')]) })
    const a = await d.claimOne()
    await pause(id)
    await d.session.settle({
      ...{ delivery: a, reportId: 'given-back', startedAt: null, wantNext: false },
      outcome: { kind: 'released' },
    })
    expect(await runAt(id, 'a')).toMatchObject({ status: 'pending', runAt: PARKED_AT })
    await resume(id)
    expect(await d.work()).toEqual(['a', 'b'])
  })

  it('one in the queue of its workflow stays there while it is paused, and keeps its place', async () => {
    const limited = { net: chain(), slots: 1 }
    const [first, second, third] = [await d.start(limited), await d.start(limited), await d.start(limited)]
    await pause(second as string)
    await d.work()
    await d.pass(0)
    await d.work()
    expect([await d.state(first as string), await d.state(second as string), await d.state(third as string)]).toEqual([
      'completed',
      'queued',
      'completed',
    ])
    await resume(second as string)
    await d.pass(0)
    await d.work()
    expect(await d.state(second as string)).toBe('completed')
  })

  it('deferred work can be completed during the pause, and its timeout stands still', async () => {
    const id = await d.start({ net: net([node('a', ['b'], { timeout: { ms: HOUR, per: 'attempt' } }), node('b')]) })
    const a = await d.claimOne()
    await d.session.settle({
      ...{ delivery: a, reportId: 'deferred', startedAt: Date.now(), wantNext: false },
      outcome: { kind: 'deferred' },
    })
    await pause(id)
    await d.pass(2 * HOUR)
    expect(await runAt(id, 'a')).toMatchObject({ status: 'leased', deferred: true, timeoutAt: null })
    await d.engine.complete({ runId: a.runId, outcome: { kind: 'succeeded', result: 1 } })
    expect(await d.claim()).toEqual([])
    await resume(id)
    expect(await d.work()).toEqual(['b'])
  })

  it('why names who paused it, when and for which reason; of nested instances and of runs too', async () => {
    const id = await d.start({ net: chain() })
    await pause(id, 'stop', 'audit')
    const facts = { kind: 'paused', what: 'instance', instance: id, by: 'ada', reason: 'audit', timeouts: 'stop' }
    const why = await d.engine.why({ instanceId: id })
    expect(why?.about).toMatchObject([facts])
    expect(why?.waits[0]?.reasons).toMatchObject([facts])
  })

  it('one transaction parks what many claims would otherwise step over: claims of others stay short', async () => {
    const id = await d.start({ net: net([node('l', [], { work: items(5_000) })]) })
    await pause(id)
    const other = await d.start({ net: net([node('o', [], { work: run('item') })]) })
    const claimed = await d.claim(10)
    expect(claimed.map((one) => one.node)).toEqual(['o'])
    expect(await d.state(other)).toBe('running')
  })
})
