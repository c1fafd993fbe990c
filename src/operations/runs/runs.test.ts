import { describe, expect, it } from 'vitest'
import type { EngineApi } from '../../engine/api.ts'
import { inputError } from '../../kernel/errors.ts'
import type { EnqueueParams } from '../../model/enqueue.ts'
import type { LeaseReport } from '../../model/leases.ts'
import type { RunRow } from '../../model/rows.ts'
import { type Caller, operator, type Scope } from '../caller.ts'
import { Operations } from '../operation.ts'
import { deliverRuns } from './deliver.ts'
import { enqueueRuns, submitRun } from './enqueue.ts'
import { renewLease, settleRuns } from './leases.ts'

const ALL = operator('ann')

function of(tenant: string, scopes: readonly Scope[] = ['work', 'enqueue']): Caller {
  return { ...ALL, tenant, bound: true, scopes: new Set(scopes) }
}

const idOf = (n: number): string => `01900000-0000-7000-8000-00000000000${n}`

/** Runs 1, 2 … are of these tenants. */
function stage(...tenants: readonly (string | null)[]) {
  const rows = tenants.map((tenant, i) => ({ id: idOf(i + 1), tenant, status: 'leased', epoch: 3 }) as RunRow)
  const reported: LeaseReport[] = []
  const enqueued: EnqueueParams[] = []
  const refused: unknown[] = []
  const engine = {
    queries: {
      run: async (id: string) => rows.find((row) => row.id === id) ?? null,
      runs: async ({ ids }: { ids: readonly string[] }) => rows.filter(({ id }) => ids.includes(id)),
    },
    records: { settings: { queueConfigs: async () => [] } },
    leases: {
      settle: async (reports: readonly LeaseReport[]) => {
        reported.push(...reports)
        return reports.map(({ runId }) => ({ run: rows.find(({ id }) => id === runId), retryDelayMs: null }))
      },
      extend: async () => [],
      refuse: async (runs: readonly unknown[]) => void refused.push(...runs),
    },
    enqueue: async (runs: readonly EnqueueParams[]) => {
      if (runs.some(({ type }) => type === 'bad')) throw inputError('invalid_request', 'enqueue[0].type', 'is bad')
      enqueued.push(...runs)
      return runs.map(() => ({ id: idOf(1), created: false, run: null }))
    },
  }
  const operations = new Operations({ engine: engine as unknown as EngineApi, logger: null })
  return { operations, rows, reported, enqueued, refused }
}

function report(runId: string, holder: string | null = 'w'): LeaseReport {
  return { runId, holder, attempt: null, outcome: { kind: 'released' } }
}

describe('reports about leases', () => {
  it('are answered in their order, and runs of other tenants and what is no id do not exist', async () => {
    const { operations, reported } = stage('acme', 'other', 'acme')
    const reports = [report(idOf(2)), report(idOf(1)), report('x'), report(idOf(3).toUpperCase())]
    const settled = await operations.perform(of('acme'), settleRuns, { reports })
    expect(settled).toMatchObject([
      { code: 'not_found' },
      { run: { id: idOf(1) } },
      { code: 'not_found' },
      { run: { id: idOf(3) } },
    ])
    expect(reported.map(({ runId }) => runId)).toEqual([idOf(1), idOf(3)])
  })

  it('are of the worker of that name in the tenant of the caller', async () => {
    const { operations, reported } = stage('acme')
    await operations.perform(of('acme'), settleRuns, { reports: [report(idOf(1)), report(idOf(1), null)] })
    await operations.perform(ALL, settleRuns, { reports: [report(idOf(1))] })
    expect(reported.map(({ holder }) => holder)).toEqual(['@acme/w', null, 'w'])
  })

  it('need the scope work', async () => {
    const { operations } = stage('acme')
    const refused = operations.perform(of('acme', ['read']), settleRuns, { reports: [] })
    await expect(refused).rejects.toMatchObject({ code: 'permission_denied' })
  })
})

describe('a lease', () => {
  it('that was lost is not renewed, and the error names its status', async () => {
    const { operations } = stage('acme')
    const asked = { worker: 'w', epoch: 3, leaseMs: null }
    const lost = operations.perform(of('acme'), renewLease, { id: idOf(1), ...asked })
    await expect(lost).rejects.toMatchObject({ code: 'stale_lease', details: { status: 'leased', id: idOf(1) } })
    const hidden = operations.perform(of('other'), renewLease, { id: idOf(1), ...asked })
    await expect(hidden).rejects.toMatchObject({ code: 'not_found' })
  })
})

describe('runs that are enqueued', () => {
  it('are in the tenant of the caller, whatever they contain', async () => {
    const { operations, enqueued } = stage()
    const runs = [
      { type: 'a', payload: null },
      { type: 'a', payload: null, tenant: 'other' },
    ]
    await operations.perform(of('acme'), enqueueRuns, { runs })
    await operations.perform(ALL, enqueueRuns, { runs })
    expect(enqueued.map(({ tenant }) => tenant)).toEqual(['acme', 'acme', undefined, 'other'])
  })

  it('come with their rows if they are asked for, and without those that were removed since', async () => {
    const asked = { runs: [{ type: 'a', payload: null }], rows: true }
    const present = await stage('acme').operations.perform(ALL, enqueueRuns, asked)
    const removed = await stage().operations.perform(ALL, enqueueRuns, asked)
    expect([present.made[0]?.run?.id, removed.made[0]?.run]).toEqual([idOf(1), null])
  })

  it('as one of the inbox name the field that is wrong, and who submits them', async () => {
    const { operations, enqueued } = stage()
    const refused = operations.perform(ALL, submitRun, { type: 'bad', payload: null })
    await expect(refused).rejects.toMatchObject({ message: 'type: is bad', details: { field: 'type' } })
    await operations.perform(ALL, submitRun, { type: 'a.v1', payload: null })
    expect(enqueued).toMatchObject([{ inbox: true, actor: 'ann' }])
  })
})

describe('a delivery', () => {
  it('fails the runs that cannot be written, and no others', async () => {
    const { operations, rows, refused } = stage(null, null, null)
    const error = new Error('too deep')
    const write = async (some: readonly RunRow[]) => some.map(({ id }) => (id === idOf(2) ? error : id))
    expect(await operations.perform(ALL, deliverRuns, { runs: rows, write })).toEqual([idOf(1), idOf(3)])
    expect(refused).toEqual([{ run: rows[1], error }])
  })

  it('that breaks gives all runs back', async () => {
    const { operations, rows, reported } = stage(null, null)
    const write = () => Promise.reject(new Error('the store is away'))
    await expect(operations.perform(ALL, deliverRuns, { runs: rows, write })).rejects.toThrow('the store is away')
    expect(reported).toMatchObject(rows.map(({ id }) => ({ runId: id, epoch: 3, outcome: { kind: 'released' } })))
  })
})
