import { describe, expect, it } from 'vitest'
import { pathText } from '../../../kernel/reading/mistakes.ts'
import { BodyNotes } from '../../../kernel/reading/part.ts'
import { readCron } from './cron.ts'

const NOW = Date.UTC(2030, 0, 1)

function read(body: unknown) {
  const notes = new BodyNotes()
  const schedule = readCron(notes.root(body), { tenant: null, initiator: null, now: NOW })
  return { schedule, mistakes: notes.mistakes.map((m) => pathText(m.path)) }
}

const TEMPLATE = { type: 'report.make', args: [{ day: 1 }], options: { queue: 'reports' } }
const OLDER = { name: 'daily', expression: '0 9 * * *', timezone: 'Asia/Tokyo', job_template: TEMPLATE }
const NEWER = { name: 'daily', cron: '0 9 * * *', timezone: 'Asia/Tokyo', ...TEMPLATE }

describe('a cron job of the wire', () => {
  it('is the same in either form', () => {
    const older = read(OLDER)
    expect(older.mistakes).toEqual([])
    expect(read(NEWER)).toEqual(older)
    expect(older.schedule).toMatchObject({
      name: 'daily',
      expression: '0 9 * * *',
      timezone: 'Asia/Tokyo',
      overlap: 'skip',
      enabled: true,
      run: {
        type: 'report.make',
        payload: [{ day: 1 }],
        queue: 'reports',
        meta: { petrel: { ojs: { cron: 'daily' } } },
      },
    })
  })

  it('needs no arguments', () => {
    expect(read({ name: 'x', cron: '@hourly', type: 'a' }).schedule.run).toMatchObject({ payload: [] })
  })

  it('counts relative times of its job from each firing', () => {
    const options = { scheduled_at: '+PT10S', expires_at: '+PT1H' }
    const { run } = read({ name: 'x', cron: '@hourly', type: 'a', options }).schedule
    expect(run).toMatchObject({ delayMs: 10_000, expiresInMs: 3_600_000 })
    expect(run).not.toHaveProperty('runAt')
    expect(run).not.toHaveProperty('expiresAt')
  })

  it('rejects no job when it fires', () => {
    const options = { unique: { keys: ['type'], on_conflict: 'reject' } }
    expect(read({ name: 'x', cron: '@hourly', type: 'a', options }).schedule.run?.unique?.onConflict).toBe('ignore')
  })

  it.each([
    '* * * * *',
    '*/5 * * * *',
    '0 0 1 1 *',
    '30 0 9 * * mon-fri',
    '0 0 L * *',
    '0 0 15W * *',
    '0 0 * * 5#3',
    '0 0 * JAN SUN',
    '0 0 * * 7',
    '@yearly',
    '@annually',
    '@monthly',
    '@weekly',
    '@daily',
    '@midnight',
    '@hourly',
    '@every 30m',
    '@every 1h30m',
    '@every 500ms',
  ])('accepts %s', (cron) => {
    expect(read({ name: 'x', cron, type: 'a' }).mistakes).toEqual([])
  })

  it.each([
    '',
    'not a valid cron',
    '0 0 0 0 0 0 0',
    '99 25 32 13 8',
    '60 * * * *',
    '*/0 * * * *',
    '0 0 30 2 *',
    '* * * *',
    '@sometimes',
    '@every',
    '@every 0s',
    '@every soon',
    5,
    null,
  ])('refuses the expression %j', (cron) => {
    expect(read({ name: 'x', cron, type: 'a' }).mistakes).toEqual(['cron'])
  })

  it.each(['+05:00', 'UTC+5', 'EST', 'PST', 'Mars/Olympus', 7])('refuses the time zone %j', (timezone) => {
    expect(read({ name: 'x', cron: '@daily', type: 'a', timezone }).mistakes).toEqual(['timezone'])
  })

  it.each([
    [{ cron: '@daily', type: 'a' }, ['name']],
    [{ name: 'No Name', cron: '@daily', type: 'a' }, ['name']],
    [{ name: 'x', type: 'a' }, ['cron']],
    [{ name: 'x', cron: '@daily' }, ['type']],
    [{ name: 'x', expression: '@daily', job_template: {} }, ['job_template.type']],
    [{ name: 'x', expression: '@daily', job_template: 5 }, ['job_template', 'type']],
    [{ name: 'x', cron: '@daily', type: 'a', overlap_policy: 'pile' }, ['overlap_policy']],
    [{ name: 'x', cron: '@daily', type: 'a', enabled: 1 }, ['enabled']],
    [
      { name: 'x', expression: '@daily', job_template: { type: 'a', options: { retry: { max_attempts: -1 } } } },
      ['job_template.options.retry.max_attempts'],
    ],
  ])('refuses %j', (body, paths) => {
    expect(read(body).mistakes).toEqual(paths)
  })
})
