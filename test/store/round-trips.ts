import { expect, it } from 'vitest'
import type { InstanceRow, RunRow } from '../../src/model/rows.ts'
import { aGate, aLimit, anInstance, aRun, aSchedule, aWorker, newId, T0 } from './rows.ts'
import { load, put } from './subject.ts'
import type { Current } from './suite.ts'

/** A run with no column at its default. */
function aFullRun(given: Partial<RunRow> = {}): RunRow {
  return aRun({
    type: 'billing.charge%_\\.v1',
    payload: '{"text":"Grüße \\"ok\\" 𝄞"}',
    status: 'leased',
    priority: -5,
    runAt: T0 + 1,
    idempotencyKey: `key-${newId()}`,
    attempt: 1,
    maxAttempts: 7,
    leasedBy: 'worker-9',
    leaseUntil: T0 + 2,
    lastError: 'line 1\nline "2" \u0001',
    result: '{"a":[1,2.5,null]}',
    createdAt: T0 + 3,
    deletedAt: T0 + 4,
    queue: 'mail',
    tenant: 'acme',
    instanceId: newId(),
    rootId: newId(),
    node: 'charge',
    fire: 3,
    item: 12,
    role: 'undo',
    scope: '1.2',
    epoch: 4,
    sessionId: newId(),
    deliveries: 2,
    leasedAt: T0 + 5,
    startedAt: T0 + 6,
    firstStartedAt: T0 + 7,
    finishedAt: T0 + 8,
    settledAt: T0 + 9,
    doneSeq: 11,
    reportId: 'report-1',
    deferred: true,
    unknown: true,
    timeoutMs: 5_000,
    timeoutPer: 'node',
    timeoutAt: T0 + 10,
    expiresAt: T0 + 11,
    retry: '{"maxAttempts":7}',
    error: '{"code":"x"}',
    limitKey: 'stripe',
    uniqueKey: 'u-1',
    deadLetter: true,
    cancelRequestedAt: T0 + 12,
    meta: '{"tags":["a"]}',
    ...given,
  })
}

function aFullInstance(): InstanceRow {
  return anInstance({
    rootId: newId(),
    parentId: newId(),
    parentNode: 'sub',
    parentFire: 2,
    parentItem: 5,
    parentScope: '1',
    parentRole: 'undo',
    depth: 2,
    tenant: 'acme',
    startKey: `start-${newId()}`,
    retryOf: newId(),
    state: 'compensated',
    phase: 'ended',
    outcome: 'rolled_back',
    reason: 'failure',
    live: 4,
    held: 5,
    open: 6,
    gates: 7,
    fires: 8,
    doneSeq: 9,
    succeeded: 10,
    failed: 11,
    unhandled: 12,
    finalsFailed: 13,
    more: true,
    eventSeq: 14,
    startedAt: T0 + 1,
    endedAt: T0 + 2,
    deadlineAt: T0 + 3,
    quotaKey: 'workflow:acme:order',
    queuedAt: T0 + 4,
  })
}

/** JSON columns keep their value, not their spacing or key order. */
function asJson(row: RunRow): unknown {
  const parse = (text: string | null) => (text === null ? null : JSON.parse(text))
  return {
    ...row,
    payload: parse(row.payload),
    result: parse(row.result),
    retry: parse(row.retry),
    error: parse(row.error),
    meta: parse(row.meta),
  }
}

export function roundTripTopic(current: Current): void {
  it('returns a run as it was written, sparse or with every column set', async () => {
    const { store } = current()
    const runs = [aRun(), aFullRun()]
    await put(store, { runs: { insert: runs } })
    const loaded = await load(store, { runs: runs.map((run) => run.id) })
    for (const run of runs) {
      expect(asJson(loaded.runs.get(run.id)!)).toEqual(asJson(run))
      expect(asJson((await store.read.run(run.id))!)).toEqual(asJson(run))
    }
  })

  it('updates every column of a run that can change, and no other', async () => {
    const { store } = current()
    const run = aRun({ payload: '1' })
    await put(store, { runs: { insert: [run] } })
    const changed = aFullRun({ id: run.id, result: '[1]', error: '[2]' })
    await put(store, { runs: { update: [changed] } })
    const fixed = {
      type: run.type,
      payload: run.payload,
      idempotencyKey: null,
      maxAttempts: run.maxAttempts,
      createdAt: run.createdAt,
      queue: run.queue,
      tenant: null,
      instanceId: null,
      rootId: null,
      node: null,
      fire: 0,
      item: -1,
      role: 'work' as const,
      scope: '',
      timeoutMs: null,
      timeoutPer: 'attempt' as const,
      retry: null,
      limitKey: null,
      meta: null,
    }
    expect(await store.read.run(run.id)).toEqual({ ...changed, ...fixed })
  })

  it('writes an update of a loaded run completely, whichever columns it changes', async () => {
    const { store } = current()
    const run = aFullRun({ instanceId: null, rootId: null, node: null })
    await put(store, { runs: { insert: [run] } })
    const cleared = {
      status: 'pending' as const,
      priority: 100,
      attempt: 0,
      leasedBy: null,
      leaseUntil: null,
      lastError: null,
      result: null,
      deletedAt: null,
      epoch: 5,
      sessionId: null,
      deliveries: 0,
      leasedAt: null,
      startedAt: null,
      firstStartedAt: null,
      finishedAt: null,
      settledAt: null,
      doneSeq: null,
      reportId: null,
      deferred: false,
      unknown: false,
      timeoutAt: null,
      error: null,
      uniqueKey: null,
      deadLetter: false,
      cancelRequestedAt: null,
    }
    await store.transact({
      roots: [],
      wait: true,
      need: { runs: [run.id] },
      decide: (loaded) => ({
        delta: { runs: { update: [{ ...loaded.runs.get(run.id)!, ...cleared }] } },
        result: null,
      }),
    })
    expect(asJson((await store.read.run(run.id))!)).toEqual(asJson({ ...run, ...cleared }))
  })

  it('returns an instance as it was written and updates all columns from its state on', async () => {
    const { store } = current()
    const sparse = anInstance()
    const full = aFullInstance()
    await put(store, { instances: { insert: [sparse, full] } })
    const loaded = await load(store, { instances: [sparse.id, full.id] })
    expect([loaded.instances.get(sparse.id), loaded.instances.get(full.id)]).toEqual([sparse, full])
    const { state, phase, outcome, reason, live, held, open, gates, fires, doneSeq, succeeded, failed } = full
    const { unhandled, finalsFailed, more, eventSeq, startedAt, endedAt, deadlineAt, queuedAt } = full
    const changed = {
      ...sparse,
      state,
      phase,
      outcome,
      reason,
      live,
      held,
      open,
      gates,
      fires,
      doneSeq,
      succeeded,
      failed,
      unhandled,
      finalsFailed,
      more,
      eventSeq,
      startedAt,
      endedAt,
      deadlineAt,
      queuedAt,
    }
    await put(store, { instances: { update: [{ ...changed, name: 'other', netHash: 'other' }] } })
    expect(await store.read.instance(sparse.id)).toEqual(changed)
  })

  it('returns everything else as it was written', async () => {
    const { store } = current()
    const instance = anInstance()
    const gate = aGate(instance, { args: '[1]', dueAt: T0 + 5, scope: '1', onTimeout: 'approve' })
    const net = { hash: 'h1', name: 'order', dialect: 'dag', net: '{"version":1}' }
    const limit = aLimit('key:a', {
      maxConcurrent: 3,
      inUse: 1,
      ratePer: 5,
      periodMs: 1_000,
      windowStart: T0,
      windowUsed: 2,
    })
    const unique = { key: 'u1', runId: newId(), expiresAt: T0 + 5, states: ['pending', 'leased'] }
    const worker = aWorker({ queues: ['a', 'b'], types: [], tenant: 'acme' })
    const schedule = aSchedule('nightly', { lastAt: T0, lastId: newId(), fireCount: 3, tenant: 'acme', enabled: false })
    await put(store, {
      instances: { insert: [instance] },
      gates: { insert: [gate] },
      nets: [net],
      queues: [{ name: 'mail', paused: true }],
      limits: [limit],
      uniques: { put: [unique] },
      workers: { put: [worker] },
      schedules: { put: [schedule] },
      slots: { put: [{ instanceId: instance.id, key: 'c:total', value: '12' }] },
    })
    const loaded = await load(store, {
      gates: [gate.id],
      nets: ['h1'],
      queues: ['mail'],
      limits: ['key:a'],
      uniques: ['u1'],
      sessions: [worker.id],
      schedules: ['nightly'],
      slots: [{ instanceId: instance.id, keys: ['c:total'] }],
    })
    const found = loaded.gates.get(gate.id)!
    expect({ ...found, options: JSON.parse(found.options) }).toEqual({ ...gate, options: JSON.parse(gate.options) })
    expect(JSON.parse(loaded.nets.get('h1')!.net)).toEqual({ version: 1 })
    expect(loaded.queues.get('mail')).toEqual({ name: 'mail', paused: true })
    expect(loaded.limits.get('key:a')).toEqual(limit)
    expect(loaded.uniques.get('u1')).toEqual(unique)
    expect(loaded.sessions.get(worker.id)).toEqual(worker)
    const cron = loaded.schedules.get('nightly')!
    expect({ ...cron, template: JSON.parse(cron.template) }).toEqual({
      ...schedule,
      template: JSON.parse(schedule.template),
    })
    expect(loaded.slots.get(`${instance.id}/c:total`)).toBe('12')
  })

  it('overwrites existing rows, and removes', async () => {
    const { store } = current()
    const instance = anInstance()
    const gate = aGate(instance)
    const run = aRun()
    const slot = (key: string, value: string) => ({ instanceId: instance.id, key, value })
    await put(store, {
      instances: { insert: [instance] },
      runs: { insert: [run] },
      gates: { insert: [gate] },
      nets: [{ hash: 'h1', name: 'order', dialect: 'dag', net: '{"version":1}' }],
      queues: [{ name: 'mail', paused: true }],
      limits: [aLimit('key:a')],
      uniques: {
        put: [
          { key: 'u1', runId: run.id, expiresAt: null, states: [] },
          { key: 'u2', runId: run.id, expiresAt: null, states: [] },
        ],
      },
      schedules: { put: [aSchedule('a'), aSchedule('b')] },
      slots: { put: [slot('a', '1'), slot('b', '2')] },
    })
    await put(store, {
      runs: { remove: [run.id] },
      gates: {
        update: [
          {
            ...gate,
            state: 'approved',
            answer: '{"ok":1}',
            answeredBy: 'ann',
            reason: 'fine',
            votes: '[{"by":"ann"}]',
            escalated: 2,
            escalateAt: T0 + 7,
            answeredAt: T0 + 1,
          },
        ],
      },
      nets: [{ hash: 'h1', name: 'never', dialect: 'dag', net: '{}' }],
      queues: [{ name: 'mail', paused: false }],
      limits: [aLimit('key:a', { inUse: 4 })],
      uniques: { put: [{ key: 'u1', runId: instance.id, expiresAt: T0, states: ['leased'] }], remove: ['u2'] },
      schedules: { put: [aSchedule('a', { fireCount: 1 })], remove: ['b'] },
      slots: { put: [slot('a', '9')], remove: [{ instanceId: instance.id, key: 'b' }] },
    })
    const loaded = await load(store, {
      runs: [run.id],
      gates: [gate.id],
      nets: ['h1'],
      queues: ['mail'],
      limits: ['key:a'],
      uniques: ['u1', 'u2'],
      schedules: ['a', 'b'],
      slots: [{ instanceId: instance.id, keys: ['a', 'b'] }],
    })
    expect(loaded.runs.size).toBe(0)
    expect(loaded.gates.get(gate.id)).toMatchObject({
      state: 'approved',
      answeredBy: 'ann',
      reason: 'fine',
      votes: '[{"by":"ann"}]',
      escalated: 2,
      escalateAt: T0 + 7,
      answeredAt: T0 + 1,
    })
    expect(loaded.nets.get('h1')!.name).toBe('order')
    expect(loaded.queues.get('mail')!.paused).toBe(false)
    expect(loaded.limits.get('key:a')!.inUse).toBe(4)
    expect([...loaded.uniques.values()]).toEqual([{ key: 'u1', runId: instance.id, expiresAt: T0, states: ['leased'] }])
    expect([...loaded.schedules.values()].map((row) => [row.name, row.fireCount])).toEqual([['a', 1]])
    expect([...loaded.slots.values()]).toEqual(['9', null])
  })
}
