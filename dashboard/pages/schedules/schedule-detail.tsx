/** The next five fires, in UTC and on the clocks of the schedule, and the last ten. */
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import type { ScheduleRow } from './schedule-actions.tsx'

const NEXT = 5
const LAST = 10

type Fires = Awaited<ReturnType<typeof readFires>>

async function readFires(id: string, signal: AbortSignal) {
  const [next, history] = await Promise.all([
    api('GET /v1/schedules/:id/next', { params: { id }, query: { count: NEXT }, signal }),
    api('GET /v1/schedules/:id/fires', { params: { id }, query: { limit: LAST }, signal }),
  ])
  return { next, fires: history.fires.flatMap((fire) => ('fired_at' in fire ? [fire] : [])) }
}

export function ScheduleDetail({ row }: { readonly row: ScheduleRow }) {
  const { id } = row
  const { data, error } = useLive(
    `schedule ${id} ${row.last_run_at} ${row.enabled}`,
    (signal) => readFires(id, signal),
    { concerns: ({ areas }) => areas.has('schedules') },
  )
  if (error.value !== null) return <Problem error={error.value} />
  if (data.value === null) return <p class="dim">Loading …</p>
  const { next, fires } = data.value
  const elsewhere = next.timezone !== 'UTC'
  return (
    <div class="cards">
      <section>
        <h3>Next fires</h3>
        {row.disabled_reason !== null && <p class="problem">{row.disabled_reason}</p>}
        {!next.enabled && <p class="dim">Paused: it would fire at these times if it were resumed now.</p>}
        <div class="scroll-x">
          <table class="times">
            <thead>
              <tr>
                <th scope="col">UTC</th>
                {elsewhere && <th scope="col">{next.timezone}</th>}
                <th scope="col">In</th>
              </tr>
            </thead>
            <tbody>
              {next.times.map(({ at, local }) => (
                <tr key={at}>
                  <td>{at.slice(0, 19).replace('T', ' ')}</td>
                  {elsewhere && <td>{local.replace('T', ' ').replace(/\.\d+/, ' ')}</td>}
                  <td>
                    <Moment at={at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {next.times.length === 0 && <p class="dim">It never fires again.</p>}
      </section>
      <section>
        <h3>Last fires</h3>
        {fires.length === 0 && <p class="dim">It has not fired yet.</p>}
        <ol class="fires" aria-label="The newest first">
          {fires.map((fire) => (
            <li key={fire.id}>
              <Fire fire={fire} />
            </li>
          ))}
        </ol>
      </section>
    </div>
  )
}

function Fire({ fire }: { readonly fire: Fires['fires'][number] }) {
  const { skipped, reason, instance_id: instance, run_id: run, planned_at: planned, actor, made_count: count } = fire
  const how = planned === null ? `on request${actor === null ? '' : ` by ${actor}`}` : 'by the clock'
  const to = instance !== null ? href(`/instances/${instance}`) : run !== null ? href(`/runs/${run}`) : null
  const what = skipped === null ? `made ${count}` : skipped === 'overlap' ? 'skipped: its last work ran' : 'refused'
  return (
    <>
      <span aria-hidden="true" class={`fire ${skipped === null ? 'good' : skipped === 'overlap' ? 'quiet' : 'bad'}`}>
        {skipped === null ? '✓' : skipped === 'overlap' ? '⤼' : '✕'}
      </span>{' '}
      <Moment at={fire.fired_at} /> {to === null ? what : <a href={to}>{what}</a>} <span class="dim">{how}</span>
      {reason !== null && <span class="dim"> · {reason}</span>}
    </>
  )
}
