/** Performs each transition that the triggers allow to a client of plain SQL, in every possible way. */
import { net, node, ONCE } from '../engine/drive.ts'
import type { Performance } from './engine-transitions.ts'
import type { Scene } from './scene.ts'

const EXPIRED_MS = 30_001

/** By `from happening guard`. */
export const BY_PLAIN_SQL: Readonly<Record<string, Readonly<Record<string, Performance>>>> = {
  'null create null': { 'an insert': (s) => s.insert() },
  'pending claim null': {
    'a claim': async (s) => {
      const id = await s.mark(await s.insert())
      await s.sql.claimed()
      return id
    },
    'a claim of a step': async (s) => {
      const id = await s.mark(await s.at(net([node('a.v1')]), 'a.v1'))
      await s.sql.claimed()
      return id
    },
  },
  'pending succeed null': {
    'a result without a claim': async (s) => {
      const id = await s.mark(await s.insert())
      await s.sql.succeed(id)
      return id
    },
  },
  'pending cancel null': {
    'a cancel': async (s) => {
      const id = await s.mark(await s.insert())
      await s.sql.cancel(id)
      return id
    },
    'deleted_at of a step': async (s) => {
      const id = await s.mark(await s.at(net([node('a.v1')]), 'a.v1'))
      await s.sql.delete(id)
      await s.d.engine.sweep()
      return id
    },
  },
  'leased renew null': {
    'a heartbeat': async (s) => {
      const id = await s.mark(await s.leasedBySql())
      await s.sql.heartbeat(id, 60)
      return id
    },
  },
  'leased succeed null': {
    'a result': async (s) => {
      const id = await s.mark(await s.leasedBySql())
      await s.sql.succeed(id)
      return id
    },
    'a result of deferred work': async (s) => {
      const id = await s.mark(await deferred(s))
      await s.sql.succeed(id)
      return id
    },
  },
  'leased fail attempt_left': {
    'a failure': async (s) => {
      const id = await s.mark(await s.leasedBySql())
      await s.sql.fail({ id, attempt: 0, maxAttempts: 3 })
      return id
    },
    'a return after the lease has expired': async (s) => {
      const id = await s.mark(await s.leasedBySql())
      await s.d.store.moveClock(EXPIRED_MS)
      await giveBack(s, id)
      return id
    },
    'a claim after the lease has expired': async (s) => {
      const id = await s.mark(await s.leasedBySql())
      await s.d.store.moveClock(EXPIRED_MS)
      await reclaim(s, id)
      // Postgres leases the run in the same statement.
      if ((await s.s.run(id)).status === 'leased') await giveBack(s, id)
      return id
    },
  },
  'leased fail final': {
    'a failure at the last attempt': async (s) => {
      const id = await s.mark(await s.leasedBySql(', max_attempts', ', 1'))
      await s.sql.fail({ id, attempt: 0, maxAttempts: 1 })
      return id
    },
    'a failure at the last attempt that asks for another': async (s) => {
      const id = await s.mark(await s.leasedBySql(', max_attempts', ', 1'))
      await s.sql.fail({ id, attempt: 0, maxAttempts: 9 })
      return id
    },
    'a failure while the workflow is ending': async (s) => {
      const id = await s.mark(await heldWhileEnding(s))
      await s.sql.fail({ id, attempt: 0, maxAttempts: 9 })
      await s.d.engine.sweep()
      return id
    },
    'a failure of deferred work': async (s) => {
      const id = await s.mark(await deferred(s))
      await s.sql.sql(`UPDATE workflow_run SET status = 'failed', last_error = 'no' WHERE id = '${id}'`)
      return id
    },
    'a claim after the last lease has expired': async (s) => {
      const id = await s.mark(await s.leasedBySql(', max_attempts', ', 1'))
      await s.d.store.moveClock(EXPIRED_MS)
      await reclaim(s, id)
      return id
    },
  },
  'leased return null': {
    'a return': async (s) => {
      const id = await s.mark(await s.leasedBySql())
      await giveBack(s, id)
      return id
    },
  },
  'leased return ending': {
    'a return while the workflow is ending': async (s) => {
      const id = await s.mark(await heldWhileEnding(s))
      await giveBack(s, id)
      await s.d.engine.sweep()
      return id
    },
  },
  'leased cancel null': {
    'a cancel of a foreign lease': async (s) => {
      const id = await s.mark(await s.leasedBySql())
      await s.sql.cancel(id)
      return id
    },
    'a cancel of a run that a session holds': async (s) => {
      const { runId } = await s.held()
      await s.mark(runId)
      await s.sql.cancel(runId)
      return runId
    },
    'a cancel of a run under a lease of its own': async (s) => {
      const id = await s.mark(await s.fetched())
      await s.sql.cancel(id)
      return id
    },
  },
}

function giveBack(s: Scene, id: string): Promise<unknown> {
  return s.sql.sql(`UPDATE workflow_run SET status = 'pending', updated_at = NOW WHERE id = '${id}'`)
}

/** The claim used by clients that take back expired leases themselves. */
function reclaim(s: Scene, id: string): Promise<unknown> {
  return s.sql.sql(
    `UPDATE workflow_run SET status = 'leased', leased_by = 'go-2', lease_until = ${s.sql.later(30)} WHERE id = '${id}'`,
  )
}

async function deferred(s: Scene): Promise<string> {
  const delivery = await s.held()
  await s.settle(delivery, { kind: 'deferred' })
  return delivery.runId
}

/** A step held by a client of plain SQL, in a workflow in which another step has failed for good. */
async function heldWhileEnding(s: Scene): Promise<string> {
  const pair = net([node('a.v1', [], { retry: ONCE }), node('b.v1')], { entry: ['a.v1', 'b.v1'] })
  await s.d.start({ net: pair })
  const { id } = await s.sql.claimed('go-1', 'b.%')
  await s.d.fail(await s.d.claimOne())
  return id
}
