/** What is wrong now, what is going on, and where it shows. Every number leads to the list it counts. */
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { Term } from '../../ui/explain.tsx'
import { Moment, span } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Attention } from './attention.tsx'
import { Capacity } from './capacity.tsx'
import { Throughput } from './throughput.tsx'

export type OverviewData = Awaited<ReturnType<typeof readOverview>>
export type Shared = NonNullable<OverviewData['shared']>

function readOverview(signal: AbortSignal) {
  return api('GET /v1/overview', { signal })
}

export default function Overview() {
  const { data, error } = useLive('overview', readOverview, { atMostEveryMs: 2_000, everyMs: 10_000 })
  if (data.value === null) return error.value === null ? <p class="dim">Loading …</p> : <Problem error={error.value} />
  const overview = data.value
  const { shared } = overview
  return (
    <div class="stack">
      <h1>Overview</h1>
      {error.value !== null && <Problem error={error.value} />}
      <Attention overview={overview} />
      <div class="cards">
        <States />
        <Waiting overview={overview} />
      </div>
      {shared !== null && <Throughput now={overview.now} shared={shared} />}
      {shared !== null && <Capacity shared={shared} />}
      {shared === null && (
        <p class="dim">Queues, workers and the store belong to all tenants: your key sees its own only.</p>
      )}
    </div>
  )
}

/** Instances by state, and those that have failed today. */
function States() {
  const { data, error } = useLive(
    'overview counts',
    (signal) => api('GET /v1/instances/counts', { query: { q: '' }, signal }),
    { atMostEveryMs: 3_000, everyMs: 15_000 },
  )
  return (
    <section class="card">
      <h2>
        <Term name="instance" label="Instances" />
      </h2>
      {error.value !== null && <Problem error={error.value} />}
      <dl class="facts">
        {data.value?.counts.map(({ state, count, more }) => (
          <Fact
            key={state}
            name={state}
            value={count.toLocaleString('en') + (more ? '+' : '')}
            to={href('/instances', { q: `state:${state}` })}
          />
        ))}
      </dl>
      {data.value?.counts.length === 0 && (
        <p class="dim">
          Nothing has been started yet: <code>petrel run examples/onboarding.workflow.yaml --mock</code>
        </p>
      )}
    </section>
  )
}

function Waiting({ overview: { gates, operations, pauses, shared } }: { readonly overview: OverviewData }) {
  const { open, oldest_at: oldest, due_soonest: due } = gates
  return (
    <section class="card">
      <h2>Waiting for people and for time</h2>
      <dl class="facts">
        <Fact name={<Term name="gate" label="open gates" />} value={open} to={href('/gates')} />
        {oldest !== null && (
          <>
            <dt>oldest gate</dt>
            <dd>
              <Moment at={oldest} />
            </dd>
          </>
        )}
        {due !== null && (
          <>
            <dt>due next</dt>
            <dd>
              <a href={href(`/gates/${due.id}`)}>
                <bdi>{due.node}</bdi>
              </a>{' '}
              <Moment at={due.due_at} />
            </dd>
          </>
        )}
        <Fact name="bulk operations running" value={operations.length} to={href('/operations')} />
        <Fact name={<Term name="pause" label="pauses" />} value={pauses.length} />
        {shared !== null && (
          <>
            <dt>
              <Term name="queue wait" />
            </dt>
            <dd>
              {shared.waits.count === 0
                ? 'nothing started in the last hour'
                : `half within ${seconds(shared.waits.p50_seconds)}, 95 % within ${seconds(shared.waits.p95_seconds)}`}
            </dd>
            <dt>run time</dt>
            <dd>
              {shared.run_time.count === 0
                ? 'nothing ended in the last hour'
                : `half within ${seconds(shared.run_time.p50_seconds)}, 95 % within ${seconds(shared.run_time.p95_seconds)}`}
            </dd>
          </>
        )}
      </dl>
      {pauses.length > 0 && (
        <ul class="plain-list">
          {pauses.map((pause) => (
            <li key={`${pause.kind} ${pause.name}`}>
              Ⅱ {pause.kind} <bdi>{pause.name}</bdi> <span class="dim">by {pause.by ?? 'an operator'}</span>{' '}
              <Moment at={pause.since} />
              {pause.reason !== null && <span class="dim">: {pause.reason}</span>}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Fact(props: {
  readonly name: preact.ComponentChildren
  readonly value: number | string
  readonly to?: string
}) {
  return (
    <>
      <dt>{props.name}</dt>
      <dd>{props.to === undefined ? props.value : <a href={props.to}>{props.value}</a>}</dd>
    </>
  )
}

function seconds(value: number | null): string {
  return value === null ? 'longer' : span(value * 1000)
}
