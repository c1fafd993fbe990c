import { describe, expect, it } from 'vitest'
import type { EngineApi } from '../../engine/api.ts'
import type { ListedSchedule, RunRequest, ScheduleRef } from '../../model/schedules/fires.ts'
import { type Caller, operator, type Scope } from '../caller.ts'
import { Operations } from '../operation.ts'
import { listAllSchedules, removeAnySchedule, runSchedule, showAnySchedule } from './timetable.ts'

const INBOX = '01900000-0000-7000-8000-000000000000'

const schedule = (name: string, tenant: string | null): ListedSchedule =>
  ({ ref: { table: 'cron', name }, kind: 'cron', name, tenant, enabled: true }) as ListedSchedule

const inbox = { ref: { table: 'inbox', id: INBOX }, kind: 'inbox', name: 'a.v1', tenant: null } as ListedSchedule

/** A store with these schedules and one of the inbox, and the requests to run them. */
function operationsOn(...stored: readonly ListedSchedule[]) {
  const rows = [...stored, inbox]
  const asked: { readonly ref: ScheduleRef; readonly request: RunRequest }[] = []
  const timetable = {
    page: async ({ tenant, withInbox }: { tenant: string | null; withInbox: boolean }) =>
      rows.filter((row) => (row.kind === 'inbox' ? withInbox : tenant === null || row.tenant === tenant)),
    one: async (ref: ScheduleRef) => rows.find((row) => JSON.stringify(row.ref) === JSON.stringify(ref)) ?? null,
    lastFires: async () => new Map(),
  }
  const runs = async (ref: ScheduleRef, request: RunRequest) => void asked.push({ ref, request })
  const engine = { queries: { timetable }, runSchedule: runs } as unknown as EngineApi
  return { operations: new Operations({ engine, logger: null }), asked }
}

const ALL = operator('root')
const of = (tenant: string, scopes: readonly Scope[] = ['admin']): Caller => ({
  ...ALL,
  subject: 'ann',
  tenant,
  bound: true,
  scopes: new Set(scopes),
})

describe('schedules of all kinds', () => {
  const PAGE = { after: null, limit: 10 }
  const three = [schedule('@acme/a', 'acme'), schedule('@other/a', 'other'), schedule('b', null)]

  it('have the names that their callers know', async () => {
    const { operations } = operationsOn(...three)
    const ids = async (caller: Caller) =>
      (await operations.perform(caller, listAllSchedules, PAGE)).schedules.map(({ id }) => id)
    expect(await ids(ALL)).toEqual(['@acme/a', '@other/a', 'b', INBOX])
    expect(await ids(of('acme'))).toEqual(['a'])
  })

  it('of other tenants, and of the inbox, do not exist for a tenant', async () => {
    const { operations } = operationsOn(...three)
    expect(await operations.perform(of('acme'), showAnySchedule, { id: 'a' })).toMatchObject({ name: 'a' })
    for (const id of ['b', '@other/a', INBOX, 'a\0']) {
      await expect(operations.perform(of('acme'), showAnySchedule, { id })).rejects.toMatchObject({ code: 'not_found' })
    }
    expect(await operations.perform(ALL, showAnySchedule, { id: INBOX.toUpperCase() })).toMatchObject({ id: INBOX })
  })

  it('run for a caller that may enqueue, whose name is recorded', async () => {
    const { operations, asked } = operationsOn(...three)
    const request = { id: 'a', requestKey: 'k', overlap: null }
    await operations.perform(of('acme', ['enqueue']), runSchedule, request)
    expect(asked).toEqual([
      { ref: { table: 'cron', name: '@acme/a' }, request: { requestKey: 'k', overlap: null, actor: 'ann' } },
    ])
    const denied = operations.perform(of('acme', ['read', 'work']), runSchedule, request)
    await expect(denied).rejects.toMatchObject({ code: 'permission_denied' })
  })

  it('of a definition are not removed', async () => {
    const { operations } = operationsOn({ ...schedule('workflow:a', null), kind: 'definition' })
    const removed = operations.perform(ALL, removeAnySchedule, { id: 'workflow:a' })
    await expect(removed).rejects.toMatchObject({ code: 'conflict' })
  })
})
