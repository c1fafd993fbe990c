import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StoredLeases } from '../../../src/engine/workers/leases.ts'
import { PetrelError } from '../../../src/kernel/errors.ts'
import type { LeaseReport } from '../../../src/model/leases.ts'
import { PLACES } from '../drive.ts'
import { accepted, EXACT, HttpWorker } from './http-worker.ts'

const UNKNOWN = '01900000-0000-7000-8000-000000000000'

describe.each(PLACES)('reports under an HTTP lease on $name', (place) => {
  let http: HttpWorker
  beforeEach(async () => {
    http = await HttpWorker.open(place)
  })
  afterEach(() => http.d.close())

  it('records a success with its result', async () => {
    const id = await http.enqueue()
    await http.fetchOne()
    const { run, retryDelayMs } = accepted(await http.ack(id, { ok: [1] }, { holder: 'w1', attempt: 1 }))
    expect([run.status, JSON.parse(run.result as string), retryDelayMs]).toEqual(['succeeded', { ok: [1] }, null])
    // A database may format JSON in its own way.
    expect({ ...(await http.get(id)), result: null }).toEqual({ ...run, result: null })
    expect(await http.d.doctor()).toEqual([])
  })

  it('decides each report of a batch separately', async () => {
    const [a, b, c] = [await http.enqueue(), await http.enqueue(), await http.enqueue({ retry: EXACT })]
    await http.fetch()
    const report = (runId: string, outcome: LeaseReport['outcome']): LeaseReport => ({
      runId,
      holder: null,
      attempt: null,
      outcome,
    })
    const settled = await http.engine.leases.settle([
      report(a, { kind: 'succeeded', result: 1 }),
      report(UNKNOWN, { kind: 'succeeded', result: 1 }),
      report(a, { kind: 'succeeded', result: 2 }),
      report(b, { kind: 'succeeded', result: 'x'.repeat(2_000_000) }),
      report(c, { kind: 'failed', error: { code: 'boom', message: 'it broke' }, how: 'policy' }),
    ])
    expect(settled.map((s) => (s instanceof PetrelError ? s.code : s.run.status))).toEqual([
      'succeeded',
      'not_found',
      'conflict',
      'payload_too_large',
      'pending',
    ])
    expect((await http.get(a)).result).toBe('1')
    expect((await http.get(b)).status).toBe('leased')
  })

  it('finds the runs of a batch even if everything remembered of them is forgotten meanwhile', async () => {
    const [a, b] = [await http.enqueue(), await http.enqueue()]
    await http.fetch()
    const outcome = { kind: 'succeeded', result: null } as const
    const reports = [a, b, UNKNOWN].map((runId) => ({ runId, holder: null, attempt: null, outcome }))
    const settling = http.engine.leases.settle(reports)
    // As after the loss of a connection, while the unknown run is being looked up.
    ;(http.engine.leases as StoredLeases).forget()
    expect((await settling).map((s) => (s instanceof PetrelError ? s.code : s.run.status))).toEqual([
      'succeeded',
      'succeeded',
      'not_found',
    ])
  })

  describe('refuses, without any change,', () => {
    const refused = async (id: string, fence: Partial<LeaseReport>, details: object) => {
      const outcomes: LeaseReport['outcome'][] = [
        { kind: 'succeeded', result: null },
        { kind: 'failed', error: { code: 'x', message: 'x' }, how: 'policy' },
        { kind: 'requeue' },
      ]
      const before = await http.picture(id)
      for (const outcome of outcomes) {
        const answer = await http.settle(id, outcome, fence)
        expect(answer).toBeInstanceOf(PetrelError)
        expect(answer).toMatchObject({
          code: 'conflict',
          details: { kind: 'run', id, expected: 'leased', ...details },
        })
      }
      expect(await http.picture(id)).toEqual(before)
    }

    it('a report on an unknown run, or with an invalid id', async () => {
      for (const id of [UNKNOWN, 'nothing', '', "'; DROP TABLE x"]) {
        const answer = await http.ack(id)
        expect(answer).toMatchObject({ code: 'not_found', details: { kind: 'run', id } })
      }
    })

    it('one on a run without a holder', async () => {
      await refused(await http.enqueue(), {}, { status: 'pending', wait: 'available' })
      await refused(await http.enqueue({ delayMs: 60_000 }), {}, { status: 'pending', wait: 'scheduled' })
    })

    it('one of another worker', async () => {
      const id = await http.enqueue()
      await http.fetchOne()
      await refused(id, { holder: 'w2' }, { status: 'leased' })
      accepted(await http.ack(id))
    })

    it('one of another attempt', async () => {
      const id = await http.enqueue({ retry: { ...EXACT, initialMs: 0 } })
      await http.fetchOne()
      accepted(await http.nack(id))
      await http.fetchOne()
      await refused(id, { attempt: 1 }, { status: 'leased' })
      await refused(id, { attempt: 3 }, { status: 'leased' })
      accepted(await http.ack(id, null, { attempt: 2 }))
    })

    it('one on a run that a session holds', async () => {
      const id = await http.enqueue()
      const delivery = await http.d.claimOne()
      await refused(id, {}, { status: 'leased' })
      await refused(id, { holder: 'driver' }, { status: 'leased' })
      expect((await http.d.succeed(delivery)).status).toBe('recorded')
    })

    it('one on deferred work', async () => {
      const id = await http.enqueue()
      const delivery = await http.d.claimOne()
      await http.d.session.settle({
        delivery,
        reportId: 'r-deferred',
        startedAt: Date.now(),
        outcome: { kind: 'deferred' },
        wantNext: false,
      })
      await refused(id, {}, { status: 'leased' })
    })

    it('one on a run that has ended, and a second one', async () => {
      const id = await http.enqueue()
      await http.fetchOne()
      accepted(await http.ack(id, 'first'))
      await refused(id, {}, { status: 'succeeded' })
      const failed = await http.enqueue({ maxAttempts: 1 })
      await http.fetchOne()
      accepted(await http.nack(failed))
      await refused(failed, {}, { status: 'failed' })
    })

    it('one on a run that was cancelled in the meantime', async () => {
      const id = await http.enqueue()
      await http.fetchOne()
      expect((await http.engine.cancelRun({ id, actor: 'ada' })).status).toBe('cancelled')
      await refused(id, { holder: 'w1', attempt: 1 }, { status: 'cancelled' })
    })

    it('a result or an error that cannot be stored', async () => {
      const id = await http.enqueue()
      await http.fetchOne()
      const before = await http.picture(id)
      expect(await http.ack(id, 'x'.repeat(1024 * 1024 + 1))).toMatchObject({ code: 'payload_too_large' })
      expect(await http.ack(id, 'nul \0 character')).toMatchObject({ code: 'unstorable' })
      expect(await http.nack(id, { message: 'nul \0 character' })).toMatchObject({ code: 'unstorable' })
      expect(await http.picture(id)).toEqual(before)
      accepted(await http.ack(id, 'x'.repeat(1024 * 1024 - 10)))
    })
  })

  it('lets one of twenty simultaneous acks win', async () => {
    for (let round = 0; round < 5; round++) {
      const id = await http.enqueue()
      await http.fetchOne()
      const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => http.ack(id, i)))
      const won = answers.flatMap((a, i) => (a instanceof PetrelError ? [] : [i]))
      expect(won).toHaveLength(1)
      expect(JSON.parse((await http.get(id)).result as string)).toBe(won[0])
    }
    expect(await http.d.doctor()).toEqual([])
  })

  it('retries a failure by its policy and returns the time', async () => {
    const id = await http.enqueue({ retry: EXACT })
    await http.fetchOne()
    const first = accepted(await http.nack(id, { code: 'first', type: 'T' }))
    expect(first).toMatchObject({ retryDelayMs: 1000, run: { status: 'pending', attempt: 1 } })
    await http.d.pass(1000)
    await http.fetchOne()
    const second = accepted(await http.nack(id, { code: 'second' }))
    expect(second).toMatchObject({ retryDelayMs: 2000, run: { attempt: 2 } })
    await http.d.pass(2000)
    await http.fetchOne()
    const third = accepted(await http.nack(id, { code: 'third' }))
    expect(third).toMatchObject({ retryDelayMs: null, run: { status: 'failed', attempt: 3, deadLetter: false } })
    const errors = (await http.d.store.read.errorsOf({ runIds: [id], limit: 10 })).get(id)
    expect(errors?.map((e) => [e.type, e.attempt, JSON.parse(e.error).code])).toEqual([
      ['retried', 1, 'first'],
      ['retried', 2, 'second'],
      ['failed', 3, 'third'],
    ])
    expect(errors?.map((e) => (e.runAt === null ? null : e.runAt - e.at))).toEqual([1000, 2000, null])
  })

  it('discards at once errors that are not retried, and keeps a dead letter if the policy requires it', async () => {
    const [never, listed, kept] = [
      await http.enqueue({ retry: EXACT }),
      await http.enqueue({ retry: { ...EXACT, nonRetryable: ['auth.*'] } }),
      await http.enqueue({ retry: { ...EXACT, maxAttempts: 1, deadLetter: true } }),
    ]
    await http.fetch()
    expect(accepted(await http.nack(never, { retryable: false })).run).toMatchObject({ status: 'failed' })
    expect(accepted(await http.nack(listed, { type: 'auth.denied' })).run).toMatchObject({ status: 'failed' })
    expect(accepted(await http.nack(kept)).run).toMatchObject({ status: 'failed', deadLetter: true })
  })

  it('lets the report override the policy', async () => {
    const ids = await Promise.all([1, 2, 3, 4].map(() => http.enqueue({ retry: { ...EXACT, deadLetter: true } })))
    const [again, thrown, dead, last] = ids as [string, string, string, string]
    await http.fetch()
    expect(accepted(await http.nack(again, { retryable: false }, 'retry'))).toMatchObject({
      retryDelayMs: 1000,
      run: { status: 'pending' },
    })
    expect(accepted(await http.nack(thrown, {}, 'discard')).run).toMatchObject({ status: 'failed', deadLetter: false })
    expect(accepted(await http.nack(dead, {}, 'dead_letter')).run).toMatchObject({ status: 'failed', deadLetter: true })
    const kept = await http.settle(last, {
      kind: 'failed',
      error: { code: 'x', message: 'x' },
      how: 'discard',
      result: { half: true },
    })
    expect(JSON.parse(accepted(kept).run.result as string)).toEqual({ half: true })
    const one = await http.enqueue({ maxAttempts: 1 })
    await http.fetch()
    expect(accepted(await http.nack(one, {}, 'retry')).run.status).toBe('failed')
  })

  it('returns a run at once, with the start counted and its error kept', async () => {
    const id = await http.enqueue({ maxAttempts: 1 })
    const next = await http.enqueue()
    await http.fetchOne()
    const error = { code: 'shutdown', message: 'worker stops', retryable: false }
    const { run, retryDelayMs } = accepted(await http.settle(id, { kind: 'requeue', error }))
    expect([run.status, run.attempt, retryDelayMs]).toEqual(['pending', 1, 0])
    const errors = (await http.d.store.read.errorsOf({ runIds: [id], limit: 10 })).get(id)
    expect(errors?.map((e) => [e.type, e.attempt, JSON.parse(e.error).code])).toEqual([['returned', 1, 'shutdown']])
    // Its place in the queue is unchanged, and it gets another start though its one attempt is spent.
    expect((await http.fetch({ holder: 'w2' })).map((r) => r.id)).toEqual([id, next])
    expect(await http.ack(id, null, { attempt: 1 })).toBeInstanceOf(PetrelError)
    expect(accepted(await http.nack(id)).run.status).toBe('failed')
    expect(await http.d.doctor()).toEqual([])
  })
})
