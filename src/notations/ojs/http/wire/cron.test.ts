import { describe, expect, it } from 'vitest'
import { BodyNotes } from '../../../../kernel/reading/part.ts'
import type { ScheduleRow } from '../../../../model/rows.ts'
import { readCron } from '../../compile/cron.ts'
import { cronItemWire, cronWire } from './cron.ts'

const NOW = Date.UTC(2030, 0, 1)

const TEMPLATE = { type: 'report.make', args: [{ day: 1 }], options: { queue: 'reports' } }
const OLDER = { name: 'daily', expression: '0 9 * * *', timezone: 'Asia/Tokyo', job_template: TEMPLATE }

describe('a cron job on the wire', () => {
  const row = (p: Partial<ScheduleRow>): ScheduleRow => ({
    name: 'daily',
    expression: '@daily',
    timezone: 'UTC',
    overlap: 'skip',
    enabled: true,
    template: '{}',
    nextAt: NOW,
    lastAt: null,
    lastId: null,
    fireCount: 0,
    tenant: null,
    createdAt: NOW,
    ...p,
  })

  it('supports both forms, in the client’s own fields', () => {
    const body = new BodyNotes().root({ ...OLDER, description: 'Every morning.' })
    const schedule = readCron(body, { tenant: null, initiator: null, now: NOW })
    const template = JSON.stringify({ run: schedule.run, about: schedule.about })
    expect(cronWire(row({ template }), 'daily')).toMatchObject({
      name: 'daily',
      expression: '@daily',
      cron: '@daily',
      description: 'Every morning.',
      status: 'active',
      enabled: true,
      ...TEMPLATE,
      job_template: TEMPLATE,
      next_run_at: '2030-01-01T00:00:00.000Z',
      last_run_at: null,
      run_count: 0,
    })
  })

  it('shows one that the SDK made', () => {
    const template = JSON.stringify({ run: { type: 'a', payload: { x: 1 } } })
    expect(cronWire(row({ template, enabled: false, nextAt: null }), 'daily')).toMatchObject({
      type: 'a',
      args: [{ x: 1 }],
      status: 'paused',
      next_run_at: null,
    })
  })

  it('has an id, a schedule and a queue for the admin page', () => {
    const template = JSON.stringify({ about: { job: TEMPLATE } })
    expect(cronItemWire(cronWire(row({ template }), 'daily'))).toMatchObject({
      id: 'daily',
      schedule: '@daily',
      queue: 'reports',
    })
  })
})
