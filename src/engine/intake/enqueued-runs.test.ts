import { describe, expect, it } from 'vitest'
import type { EnqueueParams } from '../../model/enqueue.ts'
import { INBOX_RETRY } from '../fold/run/retry-policy.ts'
import { type Order, orderOf } from './enqueued-runs.ts'

const DEPS = { newId: () => '00000000-0000-7000-8000-000000000001', maxPayloadBytes: 1_000 }
const order = (params: Partial<EnqueueParams>): Order =>
  orderOf({ type: 'mail.send', payload: null, ...params }, 3, DEPS)

describe('an enqueued run', () => {
  it('has the defaults of the inbox', () => {
    expect(order({}).run).toMatchObject({ queue: 'default', priority: 100, maxAttempts: 3, retry: null })
  })

  it('has its own policy, completed by that of the inbox', () => {
    const { run } = order({ retry: { backoff: 'linear' }, maxAttempts: 7 })
    expect(run.maxAttempts).toBe(7)
    expect(JSON.parse(run.retry as string)).toEqual({ ...INBOX_RETRY, backoff: 'linear', maxAttempts: 7 })
  })

  it.each<readonly [Partial<EnqueueParams>, RegExp]>([
    [{ type: '' }, /enqueue\[3\]\.type/],
    [{ id: 'mine' }, /enqueue\[3\]\.id/],
    [{ priority: 0.5 }, /enqueue\[3\]\.priority/],
    [{ maxAttempts: 0 }, /enqueue\[3\]\.maxAttempts/],
    [{ retry: { backoff: 'fast' as never } }, /enqueue\[3\]\.retry\.backoff.*must be one of constant, linear/],
    [{ retry: { jitter: 2 } }, /enqueue\[3\]\.retry\.jitter.*between 0 and 1/],
    [{ inbox: true }, /enqueue\[3\]\.type.*version/],
    [{ payload: 'x'.repeat(2_000) }, /enqueue\[3\]\.payload/],
  ])('%j is refused with its path', (params, message) => {
    expect(() => order(params)).toThrow(message)
  })
})
