import { describe, expect, it } from 'vitest'
import { pathText } from '../../../kernel/reading/mistakes.ts'
import { BodyNotes } from '../../../kernel/reading/part.ts'
import { HELD_AT } from '../../../model/rows.ts'
import { keptMeta } from '../project/envelope.ts'
import { enqueueParams, jobTree, readJob } from './job.ts'
import { needsClock } from './options.ts'
import { DEFAULT_RETRY } from './tree.ts'

const NOW = Date.UTC(2030, 0, 1)
const UNKNOWN = { tenant: null, initiator: null }

function read(body: unknown) {
  const notes = new BodyNotes()
  const job = readJob(notes.root(body), NOW)
  return { job, mistakes: notes.mistakes.map((m) => pathText(m.path)) }
}

const options = (given: object) => read({ type: 'a', args: [], options: given }).job.options

describe('a job of the wire', () => {
  it('needs a type and arguments, and gets the defaults', () => {
    const { job, mistakes } = read({ type: 'email.send', args: ['a', 1] })
    expect(mistakes).toEqual([])
    expect(enqueueParams(job, UNKNOWN)).toEqual({
      type: 'email.send',
      payload: ['a', 1],
      queue: 'default',
      priority: 100,
      retry: DEFAULT_RETRY,
    })
  })

  it('may have its options next to its type, as in the core envelope', () => {
    const { job } = read({ type: 'a', args: [], queue: 'mail', priority: 7, options: { priority: 9 } })
    expect(job.options).toMatchObject({ queue: 'mail', priority: 91 })
    expect(job.envelope).toEqual({})
  })

  it('keeps unknown fields, but not those that only the server sets', () => {
    const { job } = read({
      type: 'a',
      args: [],
      state: 'completed',
      attempt: 9,
      version: '2.0',
      x_custom: { deep: true },
      options: { x_option: 1, tags: ['t'] },
    })
    expect(job.envelope).toEqual({
      rest: { version: '2.0', x_custom: { deep: true } },
      options: { x_option: 1 },
      tags: ['t'],
    })
  })

  it('keeps the client’s own text of times', () => {
    const { job } = read({
      type: 'a',
      args: [],
      options: { expires_at: '2099-12-31T23:59:59Z', delay_until: '2031-01-01T00:00:00+01:00' },
    })
    expect(job.envelope).toEqual({ expiresAt: '2099-12-31T23:59:59Z', scheduledAt: '2031-01-01T00:00:00+01:00' })
    expect(job.options).toMatchObject({
      expiresAt: Date.UTC(2099, 11, 31, 23, 59, 59),
      runAt: Date.UTC(2030, 11, 31, 23),
    })
  })

  it('counts relative times from now', () => {
    expect(options({ scheduled_at: '+PT2S', expires_at: '+PT5S' })).toMatchObject({
      runAt: NOW + 2000,
      expiresAt: NOW + 5000,
    })
    expect(needsClock({ type: 'a', options: { scheduled_at: '+PT2S' } })).toBe(true)
    expect(needsClock({ type: 'a', expires_at: '+PT2S' })).toBe(true)
    expect(needsClock({ type: 'a', options: { scheduled_at: '2031-01-01T00:00:00Z' } })).toBe(false)
  })

  it('waits for activate if it is pending', () => {
    expect(options({ pending: true, scheduled_at: '+PT2S' }).runAt).toBe(HELD_AT)
  })

  it('has its timeout in milliseconds, or in the core’s seconds', () => {
    expect([{ timeout_ms: 1500 }, { timeout: 90 }, { timeout: 'PT2M' }, {}].map((o) => options(o).timeoutMs)).toEqual([
      1500,
      90_000,
      120_000,
      null,
    ])
  })

  it('stores greater priorities as earlier', () => {
    expect([100, 10, 0, -100].map((priority) => options({ priority }).priority)).toEqual([0, 90, 100, 200])
  })

  it.each([
    [{ args: [] }, ['type']],
    [{ type: 'a' }, ['args']],
    [{ type: 'Email.Send', args: [] }, ['type']],
    [{ type: '1a', args: [] }, ['type']],
    [{ type: '', args: [] }, ['type']],
    [{ type: 'a', args: null }, ['args']],
    [{ type: 'a', args: {} }, ['args']],
    [{ type: 'a', args: [], id: '550e8400-e29b-41d4-a716-446655440000' }, ['id']],
    [{ type: 'a', args: [], id: '' }, ['id']],
    [{ type: 'a', args: [], id: null }, ['id']],
    [{ type: 'a', args: [], meta: [] }, ['meta']],
    [{ type: 'a', args: [], meta: { petrel: 1 } }, ['meta.petrel']],
    [{ type: 'a', args: [], options: 'x' }, ['options']],
    [{ type: 'a', args: [], options: { queue: 'My_Queue' } }, ['options.queue']],
    [{ type: 'a', args: [], options: { queue: `a${'b'.repeat(128)}` } }, ['options.queue']],
    [{ type: 'a', args: [], options: { priority: 101 } }, ['options.priority']],
    [{ type: 'a', args: [], options: { priority: 1.5 } }, ['options.priority']],
    [{ type: 'a', args: [], options: { timeout_ms: 0 } }, ['options.timeout_ms']],
    [{ type: 'a', args: [], options: { tags: 'x' } }, ['options.tags']],
    [{ type: 'a', args: [], options: { scheduled_at: 'soon' } }, ['options.scheduled_at']],
    [{ type: 'a', args: [], options: { retry: { max_attempts: -1 } } }, ['options.retry.max_attempts']],
    [{ type: 'a', args: [], options: { retry_policy: { max_attempts: -1 } } }, ['options.retry_policy.max_attempts']],
    [{ type: 'a', args: [], options: { visibility_timeout_ms: 0 } }, ['options.visibility_timeout_ms']],
    [{ type: 'a', args: [], options: { rate_limit: { concurrency: 2 } } }, ['options.rate_limit']],
    [
      { type: 'a', args: [], options: { rate_limit: { max_per_second: 2 ** 31 } } },
      ['options.rate_limit.max_per_second'],
    ],
    [{ type: 'a', args: [], options: { timeout_ms: Number.MAX_SAFE_INTEGER } }, ['options.timeout_ms']],
    [{ type: 'a', args: [], options: { delay: '999999999d' } }, ['options.delay']],
    [{ type: 'a', args: [], options: { retry: { max_attempts: 2 ** 31 } } }, ['options.retry.max_attempts']],
    [
      { type: 'a', args: [], options: { retry: { initial_interval: 'P9999999999D' } } },
      ['options.retry.initial_interval'],
    ],
    [{ type: 'a', args: [], options: { unique: { period: 'P999999999W' } } }, ['options.unique.period']],
    ['x', ['', 'type', 'args']],
    [
      { type: 'A', args: 1, options: { priority: 'x', queue: '-' } },
      ['type', 'args', 'options.queue', 'options.priority'],
    ],
  ])('refuses %j', (body, paths) => {
    expect(read(body).mistakes).toEqual(paths)
  })

  it('accepts hyphens in the segments of a type, a later UUIDv7 and an unusual but valid queue', () => {
    const id = '019461a8-1a2b-7c3d-8e4f-5a6b7c8d9e0f'
    expect(read({ id, type: 'retry.test.max-attempts', args: [], options: { queue: '0.mail-eu' } }).mistakes).toEqual(
      [],
    )
  })

  it('limits its queue, or all jobs that name its key', () => {
    expect(options({ queue: 'q', rate_limit: { max_per_second: 3 } })).toMatchObject({
      limitKey: null,
      limits: [{ key: 'queue:q', ratePer: 3, periodMs: 1000 }],
    })
    expect(
      options({ rate_limit: { key: 'stripe', concurrency: 5, rate: { limit: 100, period: 'PT1M' } } }),
    ).toMatchObject({
      limitKey: 'stripe',
      limits: [{ key: 'key:stripe', maxConcurrent: 5, ratePer: 100, periodMs: 60_000 }],
    })
    expect(options({ rate_limit: { key: 'stripe', throttle: { limit: 10, period: 'PT1S' } } }).limits).toEqual([
      { key: 'key:stripe', maxConcurrent: null, ratePer: 1, periodMs: 100 },
    ])
  })
})

describe('a job as a run', () => {
  it('keeps meta and envelope apart and returns both', () => {
    const { job } = read({
      type: 'a',
      args: [],
      meta: { trace: 't' },
      options: { tags: ['x'], retry: { max_attempts: 2 } },
    })
    const { meta } = enqueueParams(job, { tenant: 'acme', initiator: 'ann' })
    expect(keptMeta(JSON.stringify(meta))).toEqual({
      meta: { trace: 't' },
      envelope: { tags: ['x'] },
      initiator: 'ann',
      graceMs: 0,
    })
  })

  it('has a unique key of its tenant', () => {
    const { job } = read({ type: 'a', args: [], options: { unique: { states: ['pending', 'active'] } } })
    const ours = enqueueParams(job, { tenant: 'acme', initiator: null }).unique
    const theirs = enqueueParams(job, UNKNOWN).unique
    expect(ours).toMatchObject({ states: ['held', 'leased'], onConflict: 'reject' })
    expect(ours?.key).not.toBe(theirs?.key)
  })

  it('shows a row written by another client as completely as it can', () => {
    expect(keptMeta('[1]')).toEqual({ meta: { value: [1] }, envelope: {}, initiator: null, graceMs: 0 })
    expect(keptMeta(null)).toEqual({ meta: {}, envelope: {}, initiator: null, graceMs: 0 })
  })
})

describe('a job as a part of a workflow', () => {
  it('carries its policy, since its row has none', () => {
    const { job } = read({ type: 'a', args: [1], options: { retry: { max_attempts: 2 }, scheduled_at: '+PT2S' } })
    expect(jobTree(job)).toMatchObject({
      kind: 'job',
      type: 'a',
      args: [1],
      options: {
        queue: 'default',
        runAt: NOW + 2000,
        retry: { maxAttempts: 2 },
        envelope: { retry: { max_attempts: 2, on_exhaustion: 'discard' } },
      },
    })
  })

  it('needs no envelope if there is nothing to keep', () => {
    expect(jobTree(read({ type: 'a', args: [] }).job).options).toEqual({
      queue: 'default',
      priority: 100,
      retry: DEFAULT_RETRY,
    })
  })
})
