/** One queue: what waits in it and why, what passes through it, and what can be done. */
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { Term } from '../../ui/explain.tsx'
import { span } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Spark } from '../../ui/spark.tsx'
import { State } from '../../ui/state.tsx'
import { QueueActions } from './queue-actions.tsx'

const MINUTES = 60

type Report = Awaited<ReturnType<typeof readReport>>

function readReport(name: string, signal: AbortSignal) {
  return api('GET /v1/queues/:name/stats', { params: { name }, query: { minutes: MINUTES }, signal })
}

export function QueueDetail({ name, onChange }: { readonly name: string; readonly onChange: () => Promise<void> }) {
  const { data, error, refresh } = useLive(`queue ${name}`, (signal) => readReport(name, signal), { everyMs: 5_000 })
  if (error.value !== null) return <Problem error={error.value} />
  const report = data.value
  if (report === null) return <p class="dim">Loading …</p>
  const changed = async (): Promise<void> => {
    await Promise.all([refresh(), onChange()])
  }
  return (
    <section class="card stack" aria-label={`Queue ${name}`}>
      <header class="row">
        <h2 class="grow">
          <bdi>{name}</bdi> {report.paused && <State state="paused" />}
        </h2>
        <QueueActions name={name} paused={report.paused} onDone={changed} />
      </header>
      <div class="cards">
        <Depth report={report} />
        <Flow report={report} />
        <Waits report={report} />
      </div>
    </section>
  )
}

function Depth({ report: { queue, depth, oldest_age_seconds: oldest } }: { readonly report: Report }) {
  const { available, scheduled, retryable, held, active, accuracy } = depth
  const more = accuracy === 'at_least' ? '+' : ''
  const runs = (filter: string): string => href('/runs', { q: `queue:${JSON.stringify(queue)} ${filter}` })
  return (
    <section>
      <h3>
        Waiting{' '}
        {accuracy !== 'exact' && <span class="dim">({accuracy === 'estimated' ? 'estimated' : 'being counted'})</span>}
      </h3>
      <dl class="facts">
        <dt>due</dt>
        <dd>
          <a href={runs('status:pending')}>{number(available) + more}</a>
        </dd>
        <dt>oldest</dt>
        <dd>{oldest === null ? '–' : `due for ${span(oldest * 1000)}`}</dd>
        <dt>due later</dt>
        <dd>{number(scheduled) + more}</dd>
        <dt>to be tried again</dt>
        <dd>{number(retryable) + more}</dd>
        <dt>not activated</dt>
        <dd>{number(held) + more}</dd>
        <dt>active</dt>
        <dd>
          <a href={runs('status:leased')}>{number(active)}</a>
        </dd>
      </dl>
    </section>
  )
}

function Flow({ report: { as_of: now, per_minute: rate, minutes, utilisation } }: { readonly report: Report }) {
  const series = (of: (minute: Report['minutes'][number]) => number): readonly number[] => {
    const first = Math.floor(Date.parse(now) / 60_000) - MINUTES + 1
    const values = new Array<number>(MINUTES).fill(0)
    for (const minute of minutes) values[Math.floor(Date.parse(minute.minute) / 60_000) - first] = of(minute)
    return values
  }
  return (
    <section>
      <h3>The last hour, per minute</h3>
      <dl class="facts">
        <dt>arrived</dt>
        <dd>
          {rate.arrived.toFixed(1)} <Spark values={series(({ arrived }) => arrived)} label="Arrivals in each minute" />
        </dd>
        <dt>started</dt>
        <dd>
          {rate.started.toFixed(1)} <Spark values={series(({ started }) => started)} label="Starts in each minute" />
        </dd>
        <dt>failed</dt>
        <dd>
          {minutes.reduce((sum, { failed }) => sum + failed, 0)} in all{' '}
          <Spark values={series(({ failed }) => failed)} label="Failures in each minute" />
        </dd>
        <dt>
          <Term name="utilisation" />
        </dt>
        <dd>
          <Gauge share={utilisation.now} />{' '}
          <span class="dim">
            {utilisation.now === null
              ? 'no worker takes from it'
              : `of ${utilisation.max_concurrent ?? utilisation.concurrency}; ${percent(utilisation.recent)} on average`}
          </span>
        </dd>
      </dl>
    </section>
  )
}

function Waits({ report: { waits } }: { readonly report: Report }) {
  const most = Math.max(1, ...waits.buckets.map(({ count }) => count))
  return (
    <section>
      <h3>
        <Term name="queue wait" label="Queue wait" /> before a start
      </h3>
      {waits.count === 0 ? (
        <p class="dim">Nothing was started in the last hour.</p>
      ) : (
        <>
          <p>
            half within {bound(waits.p50_seconds)}, 95 % within {bound(waits.p95_seconds)}
          </p>
          <table class="histogram">
            <tbody>
              {waits.buckets.map(({ up_to_seconds: upTo, count }) => (
                <tr key={upTo}>
                  <th scope="row">{bound(upTo)}</th>
                  <td class="n">{number(count)}</td>
                  <td>
                    <meter min={0} max={most} value={count} aria-label={`${count} waited up to ${bound(upTo)}`} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </>
      )}
    </section>
  )
}

function Gauge({ share }: { readonly share: number | null }) {
  if (share === null) return <>–</>
  return (
    <>
      <meter min={0} max={1} high={0.9} value={Math.min(1, share)} aria-label="Utilisation now" /> {percent(share)}
    </>
  )
}

function percent(share: number | null): string {
  return share === null ? '–' : `${Math.round(share * 100)} %`
}

function bound(seconds: number | null): string {
  return seconds === null ? 'longer' : span(seconds * 1000)
}

function number(n: number): string {
  return n.toLocaleString('en')
}
