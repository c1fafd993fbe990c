/** schedules at a shell: all kinds in one list, the next times, the history, and runs on request. */
import { expect, it } from 'vitest'
import { shell } from './petrel.ts'

const sh = shell()
const petrel = (...args: readonly string[]) => sh.petrel(...args, '--store', 'sqlite:schedules.db')

it('schedules ls, show, next, history and run', async () => {
  sh.write(
    'report.yaml',
    `apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: report }
spec:
  trigger: { schedule: '0 9 * * mon', timezone: Europe/Berlin }
  steps:
    - { name: write, timeout: 1h }
`,
  )
  await petrel('deploy', 'report.yaml')
  const added = await petrel('schedules', 'add', 'cli.daily.v1', '0 6 * * *', '--json')
  const { id } = added.json().schedule
  const rows = (await petrel('schedules', 'ls')).out.split('\n')
  expect(rows[1]).toMatch(/^workflow:report +report +0 9 \* \* mon +Europe\/Berlin +definition +skip +20/)
  expect(rows[2]).toMatch(new RegExp(`^${id} +cli\\.daily\\.v1 +0 6 \\* \\* \\* +UTC +inbox +allow +20`))
  const page = (await petrel('schedules', 'ls', '--limit', '1', '--json')).json()
  expect(page.schedules.map((one: any) => one.id)).toEqual(['workflow:report'])
  const next = (await petrel('schedules', 'ls', '--after', page.next_after, '--json')).json()
  expect(next.schedules.map((one: any) => one.id)).toEqual([id])

  expect((await petrel('schedules', 'show', 'workflow:report')).out).toMatch(/in_words +at 09:00 on Monday\n/)
  expect((await petrel('schedules', 'show', id, '--json')).json().schedule).toMatchObject({ id, kind: 'inbox' })

  const times = (await petrel('schedules', 'next', 'workflow:report', '--count', '3')).out.trimEnd().split('\n')
  expect(times).toHaveLength(4)
  expect(times[1]).toMatch(/^20\S+ 0[78]:00:00Z +20\S+ 09:00:00\+0[12]:00$/)
  expect((await petrel('schedules', 'next', id, '--json')).json().times).toHaveLength(5)

  expect((await petrel('schedules', 'history', id)).out).toBe('it has not fired\n')
  const run = await petrel('schedules', 'run', id, '--key', 'k')
  expect(run.out).toMatch(new RegExp(`^schedule ${id} made run [0-9a-f-]{36}\n$`))
  const again = (await petrel('schedules', 'run', id, '--key', 'k')).out
  expect(again).toBe(`the key is taken by run ${run.out.trim().split(' ').at(-1)}\n`)
  const history = (await petrel('schedules', 'history', id)).out.trimEnd().split('\n')
  expect(history).toHaveLength(2)
  expect(history[1]).toMatch(/on request +run [0-9a-f-]{36}/)

  expect((await petrel('schedules', 'run', 'workflow:report', '--json')).json()).toMatchObject({
    created: true,
    run_id: null,
  })
  const busy = await petrel('schedules', 'run', 'workflow:report')
  expect([busy.code, busy.err]).toEqual([1, expect.stringContaining('has not ended')])
  expect((await petrel('schedules', 'run', 'workflow:report', '--overlap', 'allow')).code).toBe(0)
  for (const command of ['show', 'next', 'history', 'run']) {
    const { code, err } = await petrel('schedules', command, 'none')
    expect([command, code, err]).toEqual([command, 3, expect.stringContaining('there is no schedule none')])
  }
}, 60_000)
