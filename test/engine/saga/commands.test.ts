/** From a handler that returns a command to a due command. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StoreDataError } from '../../../src/kernel/store-errors.ts'
import type { Delta } from '../../../src/model/transaction.ts'
import type { Store, Transaction } from '../../../src/store/store.ts'
import type { Context } from '../../../src/worker/context.ts'
import { Handlers } from '../../../src/worker/handlers.ts'
import type { Delivery } from '../../../src/worker/port.ts'
import { Worker } from '../../../src/worker/worker.ts'
import { net, node, PLACES } from '../drive.ts'
import { TwoEngines } from '../two-engines.ts'
import { RESEND, Stage, sagaNet, step } from './stage.ts'

/** Sees every delta that is decided; may refuse it. */
function watched(store: Store, seen: (delta: Delta) => void): () => void {
  const { transact } = store
  store.transact = (given: Transaction<unknown>) =>
    transact.call(store, {
      ...given,
      decide: (loaded) => {
        const decided = given.decide(loaded)
        if ('delta' in decided) seen(decided.delta)
        return decided
      },
    }) as never
  return () => {
    store.transact = transact
  }
}

describe.each(PLACES)('commands on $name', (place) => {
  let s: Stage
  beforeEach(async () => {
    s = await Stage.open(place)
  })
  afterEach(async () => {
    expect(await s.d.doctor()).toEqual([])
    await s.close()
  })

  it('a command is stored by the settle that defers its run, or neither is', async () => {
    await s.start(sagaNet([step('a')]))
    const [a] = (await s.d.claim()) as [Delivery]
    const deltas: Delta[] = []
    let refuse = true
    const stop = watched(s.d.store, (delta) => {
      if (delta.commands === undefined) return
      deltas.push(delta)
      if (refuse) {
        refuse = false
        throw new StoreDataError('unstorable', 'this database has had enough')
      }
    })
    await s.defer(a)
    stop()
    expect(deltas).toHaveLength(1)
    expect(deltas[0]).toMatchObject({
      runs: { update: [{ id: a.runId, deferred: true }] },
      commands: { put: [{ runId: a.runId, instanceId: s.id, subject: 'shop.v1.a.do' }] },
    })
    // The transaction was refused: the run failed as unstorable, and left no command.
    expect(await s.run('a')).toMatchObject({ status: 'failed', deferred: false })
    expect(await s.d.engine.commands.ofInstance({ instanceId: s.id })).toEqual([])
    expect(await s.errors()).toEqual(['unstorable', undefined])
  })

  it('is due at once, sent again while unanswered, and rests when it is answered', async () => {
    await s.start(sagaNet([step('a', ['b']), step('b')]))
    await s.dispatch()
    expect(await s.d.engine.commands.of({ runIds: [s.idOf('a')] })).toMatchObject([
      { node: 'a', role: 'work', body: '{"step":"a"}', resendMs: RESEND, publishedAt: null, publishes: 0 },
    ])
    expect(await s.due()).toEqual(['a'])
    await s.d.engine.commands.confirm({ runIds: [s.idOf('a')] })
    expect(await s.due()).toEqual([])
    await s.d.pass(RESEND + 1)
    expect(await s.due()).toEqual(['a'])
    await s.answer('a')
    await s.dispatch()
    await s.d.pass(RESEND + 1)
    expect(await s.due()).toEqual(['b'])
    expect(await s.d.engine.commands.of({ runIds: [s.idOf('a')] })).toMatchObject([{ dueAt: null, publishes: 1 }])
  })

  it('its own process is notified when it is stored, and so are others', async () => {
    let notified = 0
    const stop = s.d.engine.commands.onStored(() => notified++)
    await s.start(sagaNet([step('a', ['b']), step('b', ['c']), step('c')]))
    expect(notified).toBe(0)
    await s.dispatch()
    expect(notified).toBe(1)
    await s.answer('a')
    expect(notified).toBe(1)
    await s.dispatch()
    expect(notified).toBe(2)
    stop()
    await s.answer('b')
    await s.dispatch()
    expect(notified).toBe(2)
    await s.answer('c')
  })

  it('runs without commands cost nothing: nothing is written about commands', async () => {
    const id = await s.d.start({ net: net([node('a', ['b']), node('b')]) })
    const parts = new Set<string>()
    const stop = watched(s.d.store, (delta) => {
      for (const part of Object.keys(delta)) parts.add(part)
    })
    const a = await s.d.claimOne()
    const outcome = { kind: 'deferred' as const }
    await s.d.session.settle({ delivery: a, reportId: 'plain', startedAt: Date.now(), outcome, wantNext: false })
    await s.d.engine.complete({ runId: a.runId, outcome: { kind: 'succeeded', result: null } })
    await s.d.work()
    stop()
    expect(await s.d.state(id)).toBe('completed')
    expect([...parts]).not.toContain('commands')
  })

  it.each([
    ['no subject', { subject: '' }],
    ['a subject with white space', { subject: 'shop.v1.a do' }],
    ['an invalid subject', { subject: 7 as never }],
    ['a body that is no JSON', { body: '{' }],
    ['a body that is no text', { body: { a: 1 } as never }],
    ['a body that no database holds', { body: '"\\u0000"' }],
    ['a resend without an end', { resendMs: 0 }],
    ['a resend that is no number', { resendMs: Number.NaN }],
  ])('%s fails its run, and only that', async (_, given) => {
    await s.start(sagaNet([step('a', ['b']), step('b')]))
    await s.dispatch()
    await s.answer('a')
    const [b] = (await s.d.claim()) as [Delivery]
    const other = await s.d.start({ net: sagaNet([step('z')]) })
    const [z] = (await s.d.claim()) as [Delivery]
    await Promise.all([s.defer(b, given), s.defer(z)])
    expect(await s.run('b')).toMatchObject({ status: 'failed', attempt: 1 })
    expect(await s.dispatch()).toEqual(['undo a'])
    await s.answer('undo a')
    expect(await s.state()).toBe('compensated')
    await s.answer('z')
    expect(await s.d.state(other)).toBe('completed')
  })

  it('a run without a workflow that defers to a command fails', async () => {
    await s.d.engine.enqueue([{ type: 'bare', payload: null, maxAttempts: 1 }])
    const bare = await s.d.claimOne()
    const command = { subject: 'shop.v1.a.do', body: '1', resendMs: RESEND }
    const outcome = { kind: 'deferred' as const, command }
    await s.d.session.settle({ delivery: bare, reportId: 'bare', startedAt: Date.now(), outcome, wantNext: false })
    expect(await s.d.store.read.run(bare.runId)).toMatchObject({ status: 'failed', deferred: false })
  })

  it('a command that was being built when its saga began to undo is not stored', async () => {
    await s.start(sagaNet([step('a', ['b', 'c']), step('b'), step('c')]))
    await s.dispatch()
    await s.answer('a')
    const ready = await s.d.claim()
    const [b, c] = ['b', 'c'].map((name) => ready.find((one) => one.node === name)) as [Delivery, Delivery]
    await s.defer(b)
    await s.refuse('b')
    expect((await s.defer(c)).status).toBe('recorded')
    expect(await s.run('c')).toMatchObject({ status: 'cancelled', deferred: false, unknown: false })
    expect(await s.d.engine.commands.of({ runIds: [c.runId] })).toEqual([])
    expect(await s.play()).toEqual(['undo a'])
    expect(await s.state()).toBe('compensated')
  })

  it('the command of a process that was declared dead is not stored', async () => {
    await s.start(sagaNet([step('a')]))
    const [a] = (await s.d.claim()) as [Delivery]
    await s.d.engine.cancelRun({ id: a.runId, actor: null })
    expect((await s.defer(a)).status).toBe('stale')
    expect(await s.d.engine.commands.of({ runIds: [a.runId] })).toEqual([])
  })

  it('a handler sends one with ctx.defer', async () => {
    const handlers = new Handlers()
    handlers.add('saga.template', (_: never, ctx: Context) =>
      ctx.defer({ command: { subject: 'shop.v1.a.do', body: '{"n": 1}', resendMs: RESEND } }),
    )
    const stored = new Promise<void>((resolve) => void s.d.engine.commands.onStored(resolve))
    const worker = await Worker.start(s.d.engine.workers, { handlers, pollMs: 20 })
    await s.start(sagaNet([step('a')]))
    await stored
    await worker.stop()
    const [command] = await s.d.engine.commands.ofInstance({ instanceId: s.id })
    expect(command).toMatchObject({ node: 'a', subject: 'shop.v1.a.do', body: '{"n": 1}' })
    await s.d.engine.complete({ runId: command?.runId as string, outcome: { kind: 'succeeded', result: 1 } })
    expect(await s.state()).toBe('completed')
  })
})

describe.each(PLACES)('two engines on $name', (place) => {
  let pair: TwoEngines
  beforeEach(async () => {
    pair = await TwoEngines.open(place)
  })
  afterEach(async () => {
    await pair.stop()
    await pair.drop()
  })

  it('one is notified of commands that the other has stored, and either can take replies', async () => {
    const [first, second] = pair.engines
    const heard = new Promise<void>((resolve) => void second.commands.onStored(resolve))
    const [started] = await first.start([{ net: sagaNet([step('a')]) }])
    const session = await first.workers.open(
      { name: 'hand', runtime: 'node', queues: null, types: null, concurrency: 1, tenant: null },
      { room: () => 0, deliver: () => {}, wake: () => {}, holding: () => [], stop: () => {} },
    )
    const [a] = (await session.claim(1)) as [Delivery]
    const command = { subject: 'shop.v1.a.do', body: '1', resendMs: RESEND }
    const outcome = { kind: 'deferred' as const, command }
    await session.settle({ delivery: a, reportId: 'r', startedAt: Date.now(), outcome, wantNext: false })
    await heard
    expect(await second.commands.take({ limit: 10, holdMs: 5_000 })).toMatchObject([{ runId: a.runId }])
    expect(await first.commands.take({ limit: 10, holdMs: 5_000 })).toEqual([])
    await second.complete({ runId: a.runId, outcome: { kind: 'succeeded', result: null } })
    expect((await first.store.read.instance(started?.id as string))?.state).toBe('completed')
  })
})
