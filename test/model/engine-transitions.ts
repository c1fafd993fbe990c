/** Performs each transition that belongs to the engine: every function returns the id of the run that made it. */
import { randomUUID } from 'node:crypto'
import type { NodeSchema } from '../../src/net/net.ts'
import { net, node, ONCE, run, undoBy } from '../engine/drive.ts'
import { Stage as SagaStage, sagaNet, step } from '../engine/saga/stage.ts'
import type { Scene } from './scene.ts'

export type Performance = (scene: Scene) => Promise<string>

const FAILS_ONCE = { code: 'boom', message: 'it broke' }
const RECEIPT: NodeSchema = { input: null, output: { type: 'object', required: ['receipt'] } }
const AMOUNT: NodeSchema = { input: { path: ['with'], schema: { type: 'number' } }, output: null }
const UNDOABLE = net([node('a', ['b'], { undo: undoBy('undo.a'), retry: ONCE }), node('b')], {
  onFailure: 'compensate',
})

/** Two parallel steps: when the first fails, the workflow is ending while the second is held. */
const PAIR = net([node('a.v1', [], { retry: ONCE }), node('b.v1')], { entry: ['a.v1', 'b.v1'] })

/** By `from happening guard`. */
export const BY_THE_ENGINE: Readonly<Record<string, Performance>> = {
  'null create null': (s) => s.enqueue(),

  'pending claim null': async (s) => {
    const id = await s.mark(await s.enqueue())
    await s.d.claimOne()
    return id
  },
  'pending claim own_lease': async (s) => {
    await s.mark(await s.enqueue())
    return s.fetchOne()
  },
  'pending take_over null': async (s) => {
    const instance = await s.d.start({ net: net([node('a', ['b']), node('b', [], { retry: ONCE })]) })
    await s.d.work(({ node }) => (node === 'b' ? new Error('bad') : null))
    const { id } = await s.d.engine.retryInstance({ id: instance, actor: null })
    return (await s.s.runAt(id, 'a')).id
  },
  'pending expire null': async (s) => {
    const id = await s.mark(await s.enqueue({ expiresAt: (await s.d.store.now()) + 1000 }))
    await s.d.pass(1001)
    return id
  },
  'pending refuse null': (s) => {
    const work = run('a', { args: { with: '{{ input }}' } })
    return s.at(net([node('a', [], { work, schema: AMOUNT })]), 'a', 'no number')
  },
  'pending cancel null': async (s) => {
    const id = await s.mark(await s.enqueue())
    await s.d.engine.cancelRun({ id, actor: null })
    return id
  },

  'leased start null': async (s) => {
    const { runId, epoch } = await s.held()
    await s.mark(runId)
    await s.d.session.started([{ runId, epoch, at: await s.d.store.now() }])
    return runId
  },
  'leased renew null': async (s) => {
    const id = await s.mark(await s.fetched())
    await s.d.engine.leases.extend({ holder: 'http', runIds: [id], leaseMs: 60_000 })
    return id
  },
  'leased defer null': async (s) => {
    const delivery = await s.held()
    await s.mark(delivery.runId)
    await s.settle(delivery, { kind: 'deferred' })
    return delivery.runId
  },
  'leased succeed null': async (s) => {
    const delivery = await s.held()
    await s.mark(delivery.runId)
    await s.d.succeed(delivery)
    return delivery.runId
  },
  'leased succeed misfit': async (s) => {
    const id = await s.at(net([node('a', [], { schema: RECEIPT })]), 'a')
    const delivery = await s.d.claimOne()
    await s.mark(id)
    await s.d.succeed(delivery, 'no receipt')
    return id
  },
  'leased fail attempt_left': async (s) => {
    const delivery = await s.held()
    await s.mark(delivery.runId)
    await s.d.fail(delivery)
    return delivery.runId
  },
  'leased fail final': async (s) => {
    const id = await s.fetched({ maxAttempts: 1 })
    await s.mark(id)
    await s.d.pass(30_001)
    return id
  },
  'leased return null': async (s) => {
    const delivery = await s.held()
    await s.mark(delivery.runId)
    await s.settle(delivery, { kind: 'released' })
    return delivery.runId
  },
  'leased return ending': async (s) => {
    await s.d.start({ net: PAIR })
    const [first, second] = [...(await s.d.claim())].sort((a, b) => a.type.localeCompare(b.type))
    if (first === undefined || second === undefined) throw new Error('two steps begin the workflow')
    await s.d.fail(first)
    await s.mark(second.runId)
    await s.settle(second, { kind: 'released' })
    return second.runId
  },
  'leased postpone null': async (s) => {
    const delivery = await s.held()
    await s.mark(delivery.runId)
    await s.settle(delivery, { kind: 'later', delayMs: 1000 })
    return delivery.runId
  },
  'leased requeue null': async (s) => {
    const runId = await s.mark(await s.fetched())
    await s.d.engine.leases.settle([{ runId, holder: null, attempt: null, outcome: { kind: 'requeue' } }])
    return runId
  },
  'leased cancel null': async (s) => {
    const { runId: id } = await s.held()
    await s.mark(id)
    await s.d.engine.cancelRun({ id, actor: null })
    return id
  },
  'leased give_up null': async (s) => {
    const instance = await s.d.start({ net: net([node('a.v1')]) })
    const { id } = await s.sql.claimed()
    await s.mark(id)
    await s.d.engine.cancelInstance({ id: instance, actor: null })
    return id
  },
  'leased give_up deferred': async (s) => {
    const instance = await s.d.start({ net: net([node('a')]) })
    const delivery = await s.d.claimOne()
    await s.settle(delivery, { kind: 'deferred' })
    await s.mark(delivery.runId)
    await s.d.engine.cancelInstance({ id: instance, actor: null })
    return delivery.runId
  },
  'leased refuse null': async (s) => {
    const delivery = await s.held()
    await s.mark(delivery.runId)
    s.refuseOnce(({ runs }) => runs?.update?.some((run) => run.status === 'succeeded') === true)
    await s.d.succeed(delivery)
    return delivery.runId
  },

  'succeeded settle null': (s) => settledAfter(s, (id) => s.sql.succeed(id)),
  'succeeded settle misfit': (s) => settledAfter(s, (id) => s.sql.succeed(id, 'no receipt'), RECEIPT),
  'failed settle null': (s) => settledAfter(s, (id) => s.sql.fail({ id, attempt: 0, maxAttempts: 1 })),
  'failed settle misfit': (s) => refusedAfter(s, (id) => s.sql.fail({ id, attempt: 0, maxAttempts: 1 })),
  'cancelled settle null': (s) => settledAfter(s, (id) => s.sql.cancel(id)),
  'cancelled settle misfit': (s) => refusedAfter(s, (id) => s.sql.cancel(id)),

  'failed report_late null': async (s) => {
    const id = await s.at(UNDOABLE, 'a')
    await s.fetchOne(1000)
    await s.d.pass(1001)
    await s.mark(id)
    await s.d.engine.leases.settle([{ runId: id, holder: null, attempt: 1, outcome: { kind: 'succeeded', result: 1 } }])
    return id
  },
  'cancelled report_late null': async (s) => {
    const id = await s.at(UNDOABLE, 'a')
    const delivery = await s.d.claimOne()
    await s.d.engine.cancelRun({ id, actor: null })
    await s.mark(id)
    await s.d.succeed(delivery)
    return id
  },
  'failed undo_late null': async (s) => {
    const saga = SagaStage.on(s.d)
    await saga.start(sagaNet([step('a', ['b']), step('b')]))
    await saga.dispatch()
    await saga.answer('a')
    await saga.dispatch()
    await saga.refuse('b')
    await saga.dispatch()
    await s.d.pass(86_400_000)
    const id = await s.mark(saga.idOf('undo a'))
    await saga.answer('undo a')
    return id
  },
  'failed redrive null': async (s) => {
    const delivery = await s.held({ maxAttempts: 1 })
    await s.d.fail(delivery, FAILS_ONCE)
    await s.mark(delivery.runId)
    await s.d.engine.redrive({ runId: delivery.runId, actor: randomUUID() })
    return delivery.runId
  },
  'cancelled redrive null': async (s) => {
    const id = await s.enqueue()
    await s.d.engine.cancelRun({ id, actor: null })
    await s.mark(id)
    await s.d.engine.redrive({ runId: id, actor: null })
    return id
  },
}

/** A step ended by plain SQL, and the engine's sweep after it. */
async function settledAfter(s: Scene, end: (id: string) => Promise<unknown>, schema?: NodeSchema): Promise<string> {
  const id = await s.at(net([node('a.v1', [], { retry: ONCE, ...(schema === undefined ? {} : { schema }) })]), 'a.v1')
  await s.sql.claimed()
  await end(id)
  await s.mark(id)
  await s.d.engine.sweep()
  return id
}

/** The same, but the database refuses the engine's write. */
function refusedAfter(s: Scene, end: (id: string) => Promise<unknown>): Promise<string> {
  s.refuseOnce(({ runs }) => runs?.update?.some((run) => run.settledAt !== null) === true)
  return settledAfter(s, end)
}
