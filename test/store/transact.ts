import { expect, it } from 'vitest'
import type { InstanceRow, RunRow } from '../../src/store/rows.ts'
import type { Loaded } from '../../src/store/store.ts'
import { aGate, aLimit, anEvent, anInstance, aRun, aSchedule, aStep, aWorker, newId, T0 } from './rows.ts'
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
  })
}

/** JSON columns keep their meaning, not their spacing or key order. */
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

export function transactTopic(current: Current): void {
  it('gives back a run as it was written, sparse or with every column set', async () => {
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
      expiresAt: null,
      retry: null,
      limitKey: null,
      meta: null,
    }
    expect(await store.read.run(run.id)).toEqual({ ...changed, ...fixed })
  })

  it('writes an update of a loaded run whole, whichever columns it changes', async () => {
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

  it('gives back an instance as it was written and updates all from its state on', async () => {
    const { store } = current()
    const sparse = anInstance()
    const full = aFullInstance()
    await put(store, { instances: { insert: [sparse, full] } })
    const loaded = await load(store, { instances: [sparse.id, full.id] })
    expect([loaded.instances.get(sparse.id), loaded.instances.get(full.id)]).toEqual([sparse, full])
    const { state, phase, outcome, reason, live, held, open, gates, fires, doneSeq, succeeded, failed } = full
    const { unhandled, finalsFailed, more, eventSeq, startedAt, endedAt, deadlineAt } = full
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
    }
    await put(store, { instances: { update: [{ ...changed, name: 'other', netHash: 'other' }] } })
    expect(await store.read.instance(sparse.id)).toEqual(changed)
  })

  it('gives back everything else as it was written', async () => {
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

  it('overwrites what is put again, and removes', async () => {
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
          { ...gate, state: 'approved', answer: '{"ok":1}', answeredBy: 'ann', reason: 'fine', answeredAt: T0 + 1 },
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
      answeredAt: T0 + 1,
    })
    expect(loaded.nets.get('h1')!.name).toBe('order')
    expect(loaded.queues.get('mail')!.paused).toBe(false)
    expect(loaded.limits.get('key:a')!.inUse).toBe(4)
    expect([...loaded.uniques.values()]).toEqual([{ key: 'u1', runId: instance.id, expiresAt: T0, states: ['leased'] }])
    expect([...loaded.schedules.values()].map((row) => [row.name, row.fireCount])).toEqual([['a', 1]])
    expect([...loaded.slots.values()]).toEqual(['9', null])
  })

  it('leaves nothing behind when decide throws', async () => {
    const { store } = current()
    const failing = store.transact({
      roots: [],
      wait: true,
      need: {},
      decide: () => {
        throw new Error('no decision')
      },
    })
    await expect(failing).rejects.toThrow('no decision')
    await put(store, { runs: { insert: [aRun()] } })
    expect(await store.read.countRuns({ queue: null })).toEqual(new Map([['pending', 1]]))
  })

  it('leaves nothing behind when one row of a delta is refused', async () => {
    const { store } = current()
    const taken = aRun()
    await put(store, { runs: { insert: [taken] } })
    const instance = anInstance()
    const delta = {
      instances: { insert: [instance] },
      runs: { insert: [aRun(), aRun({ id: taken.id })] },
      events: [anEvent({ type: 'created', runId: taken.id })],
      queues: [{ name: 'mail', paused: true }],
    }
    await expect(put(store, delta)).rejects.toThrow()
    expect(await store.read.instance(instance.id)).toBeNull()
    expect(await store.read.countRuns({ queue: null })).toEqual(new Map([['pending', 1]]))
    expect(await store.read.feed({ afterId: 0, limit: 10 })).toEqual([])
  })

  it('refuses values no store could keep, as data errors', async () => {
    const { store } = current()
    const bad = [
      { runs: { insert: [aRun({ payload: '{"broken' })] } },
      { runs: { insert: [aRun({ idempotencyKey: 'a\0b' })] } },
      { runs: { insert: [aRun({ type: 'a\0b' })] } },
      { events: [anEvent({ type: 'no such word' })] },
      { slots: { put: [{ instanceId: newId(), key: 'a', value: 'nope' }] } },
    ]
    for (const delta of bad) await expect(put(store, delta)).rejects.toMatchObject({ name: 'StoreDataError' })
    const run = aRun()
    await put(store, { runs: { insert: [run] } })
    await expect(put(store, { runs: { update: [{ ...run, result: '{' }] } })).rejects.toMatchObject({
      name: 'StoreDataError',
    })
    expect((await store.read.run(run.id))!.result).toBeNull()
  })

  it('calls decide again with what it asked for, keeping what it had', async () => {
    const { store } = current()
    const [first, second] = [aRun(), aRun()]
    await put(store, { runs: { insert: [first, second] } })
    const rounds: string[][] = []
    const result = await store.transact({
      roots: [],
      wait: true,
      need: { runs: [first.id] },
      decide: (loaded) => {
        rounds.push([...loaded.runs.keys()])
        if (rounds.length === 1) return { need: { runs: [second.id, first.id] } }
        if (rounds.length === 2) return { need: { queues: ['default'] } }
        return { delta: {}, result: 'decided' }
      },
    })
    expect(result).toBe('decided')
    expect(rounds).toEqual([[first.id], [first.id, second.id], [first.id, second.id]])
  })

  it('tells what was asked for and is absent', async () => {
    const { store } = current()
    const id = newId()
    const loaded = await load(
      store,
      {
        runs: [id],
        instances: [id],
        gates: [id],
        nets: ['h'],
        queues: ['q'],
        limits: ['l'],
        idempotencyKeys: ['k'],
        startKeys: ['s'],
        uniques: ['u'],
        sessions: [id],
        schedules: ['c'],
        slots: [{ instanceId: id, keys: ['a'] }],
        slotsWith: [{ instanceId: id, prefix: 'p' }],
        topSlot: [{ instanceId: id, prefix: 'p' }],
        unstarted: [{ instanceId: id, limit: 5 }],
        openChildren: [{ instanceId: id, limit: 5 }],
        openGates: [{ instanceId: id, limit: 5 }],
        results: [{ instanceId: id, node: 'n' }],
        items: [{ instanceId: id, node: 'n', fire: 0, from: 0, count: 5 }],
        places: [{ instanceId: id, node: 'n', item: -1 }],
        childPlaces: [{ instanceId: id, node: 'n', item: -1 }],
        handedBy: [{ sessionId: id, reportId: 'r' }],
        candidates: {
          queues: null,
          types: null,
          tenant: null,
          runtime: null,
          limit: 5,
          skipQueues: [],
          skipLimitKeys: [],
        },
        urgency: [{ queues: null, types: null, tenant: null, runtime: null }],
      },
      [id],
    )
    const maps = [
      loaded.runs,
      loaded.instances,
      loaded.gates,
      loaded.nets,
      loaded.queues,
      loaded.limits,
      loaded.idempotencyKeys,
      loaded.startKeys,
      loaded.uniques,
      loaded.sessions,
      loaded.schedules,
      loaded.items,
    ]
    expect(maps.map((map) => map.size)).toEqual(maps.map(() => 0))
    expect(loaded.locked.size).toBe(0)
    expect(loaded.slots.get(`${id}/a`)).toBeNull()
    expect(loaded.topSlot.get(`${id}/p`)).toBeNull()
    expect(loaded.results.get(`${id}/n`)).toBeNull()
    expect(loaded.places.get(`${id}/n/-1`)).toBeNull()
    expect(loaded.childPlaces.get(`${id}/n/-1`)).toBeNull()
    expect(loaded.slotsWith.get(`${id}/p`)).toEqual([])
    expect(loaded.unstarted.get(id)).toEqual([])
    expect(loaded.openChildren.get(id)).toEqual([])
    expect(loaded.openGates.get(id)).toEqual([])
    expect(loaded.handedBy.get(`${id}/r`)).toEqual([])
    expect(loaded.candidates).toEqual([])
    expect(loaded.urgency).toEqual([null])
  })

  it('locks the roots that exist', async () => {
    const { store } = current()
    const instance = anInstance()
    await put(store, { instances: { insert: [instance] }, runs: { insert: [aStep(instance, 'a')] } })
    const loaded = await load(store, {}, [instance.id, newId()])
    expect([...loaded.locked]).toEqual([instance.id])
  })

  it("gives decide the store's clock in whole milliseconds", async () => {
    const { store } = current()
    await store.moveClock(86_400_000)
    const { now } = await load(store, {})
    expect(Number.isInteger(now)).toBe(true)
    expect(Math.abs(now - Date.now() - 86_400_000)).toBeLessThan(5_000)
    expect(Math.abs((await store.now()) - now)).toBeLessThan(5_000)
  })

  it('runs many transactions started at once without losing any', async () => {
    const { store } = current()
    const instance = anInstance({ fires: 0 })
    await put(store, { instances: { insert: [instance] } })
    const increment = (loaded: Loaded) => {
      const row = loaded.instances.get(instance.id)!
      return { delta: { instances: { update: [{ ...row, fires: row.fires + 1 }] } }, result: row.fires }
    }
    const transaction = { roots: [instance.id], wait: true, need: { instances: [instance.id] }, decide: increment }
    const seen = await Promise.all(Array.from({ length: 20 }, () => store.transact(transaction)))
    expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index))
    expect((await store.read.instance(instance.id))!.fires).toBe(20)
  })

  it('calls the probe before and after each commit', async () => {
    const points: string[] = []
    const store = await current().second({ probe: (point) => points.push(point) })
    const run = aRun()
    await store.transact({
      roots: [],
      wait: true,
      need: {},
      decide: () => {
        points.push('decide')
        return { delta: { runs: { insert: [run] } }, result: null }
      },
    })
    expect(points).toEqual(['decide', 'before-commit', 'after-commit'])
  })
}
