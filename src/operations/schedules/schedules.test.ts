import { describe, expect, it } from 'vitest'
import type { EngineApi } from '../../engine/api.ts'
import type { ScheduleRow } from '../../model/rows.ts'
import type { ScheduleParams } from '../../model/schedules/schedules.ts'
import { type Caller, operator, type Scope } from '../caller.ts'
import { Operations } from '../operation.ts'
import { listSchedules, putSchedule, removeSchedule, showSchedule, switchSchedule } from './schedules.ts'

/** A store with these schedules, by stored name and tenant. */
function operationsOn(...stored: readonly (readonly [name: string, tenant: string | null])[]): Operations {
  const rows = new Map(stored.map(([name, tenant]) => [name, { name, tenant, enabled: true } as ScheduleRow]))
  const put = (row: ScheduleRow): ScheduleRow => {
    rows.set(row.name, row)
    return row
  }
  const engine = {
    queries: { schedules: async () => [...rows.values()], schedule: async (name: string) => rows.get(name) ?? null },
    putSchedule: async ({ name, tenant }: ScheduleParams) =>
      put({ name, tenant: tenant ?? null, enabled: true } as ScheduleRow),
    setSchedule: async ({ name, enabled }: { name: string; enabled: boolean }) =>
      put({ ...(rows.get(name) as ScheduleRow), enabled }),
    removeSchedule: async (name: string) => rows.delete(name),
  }
  return new Operations({ engine: engine as unknown as EngineApi, logger: null })
}

const ALL = operator(null)

function of(tenant: string, scopes: readonly Scope[] = ['admin']): Caller {
  return { ...ALL, tenant, bound: true, scopes: new Set(scopes) }
}

describe('schedules', () => {
  const names = async (operations: Operations, caller: Caller): Promise<readonly string[]> =>
    (await operations.perform(caller, listSchedules, { enabled: null })).map(({ name }) => name)

  it('of other tenants do not exist for a caller', async () => {
    const operations = operationsOn(['b', null], ['@acme/a', 'acme'], ['@other/c', 'other'])
    expect(await names(operations, of('acme'))).toEqual(['@acme/a'])
    expect(await names(operations, ALL)).toEqual(['@acme/a', '@other/c', 'b'])
    expect(await operations.perform(of('acme'), showSchedule, { name: 'a' })).toMatchObject({ name: '@acme/a' })
    for (const name of ['b', 'c', '@other/c']) {
      expect(await operations.perform(of('acme'), showSchedule, { name })).toBeNull()
      expect(await operations.perform(of('acme'), removeSchedule, { name })).toBeNull()
    }
  })

  it('are put in the tenant of the caller, in place of its own of that name', async () => {
    const operations = operationsOn(['nightly', null])
    const put = () => operations.perform(of('acme'), putSchedule, { name: 'nightly', expression: '@daily' })
    expect(await put()).toMatchObject({ created: true, row: { name: '@acme/nightly', tenant: 'acme' } })
    expect(await put()).toMatchObject({ created: false, row: { name: '@acme/nightly' } })
    expect(await names(operations, ALL)).toEqual(['@acme/nightly', 'nightly'])
  })

  it('keep a plain name from before tenants had their own', async () => {
    const operations = operationsOn(['old', 'acme'])
    const asked = { name: 'old', expression: '@daily' }
    expect(await operations.perform(of('acme'), putSchedule, asked)).toMatchObject({
      created: false,
      row: { name: 'old' },
    })
  })

  it('are listed by whether they are enabled', async () => {
    const operations = operationsOn(['a', null], ['b', null])
    await operations.perform(ALL, switchSchedule, { name: 'a', enabled: false })
    expect(await operations.perform(ALL, listSchedules, { enabled: false })).toMatchObject([{ name: 'a' }])
    expect(await operations.perform(ALL, listSchedules, { enabled: true })).toMatchObject([{ name: 'b' }])
  })

  it('are changed only with the scope admin', async () => {
    const perform = operationsOn(['a', 'acme']).for(of('acme', ['read', 'enqueue']))
    const denied = { code: 'permission_denied' }
    await expect(perform(putSchedule, { name: 'a', expression: '@daily' })).rejects.toMatchObject(denied)
    await expect(perform(switchSchedule, { name: 'a', enabled: false })).rejects.toMatchObject(denied)
    await expect(perform(removeSchedule, { name: 'a' })).rejects.toMatchObject(denied)
  })
})
