/** One run, of the inbox or of an instance: what it is, who executed it, and what came of it. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { type api, rawText } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Term } from '../../ui/explain.tsx'
import { EventList } from '../../ui/history/event-list.tsx'
import { EVERYTHING, type EventFilter, eventIn, passes } from '../../ui/history/events.ts'
import { JsonText } from '../../ui/json/json.tsx'
import { elementsOf, memberAt, membersOf } from '../../ui/json/json-members.ts'
import { LogView } from '../../ui/log/log-view.tsx'
import { Moment, now } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { State } from '../../ui/state.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Executions } from './execution-table.tsx'
import { RunActions } from './run-actions.tsx'
import { RunWhy } from './run-why.tsx'

export type Run = Awaited<ReturnType<typeof api<'GET /v1/runs/:id'>>>['run']

interface Shown {
  readonly run: Run
  /** `payload`, `result` and `error` as the server wrote them. */
  readonly texts: ReadonlyMap<string, string>
  /** Each as the server wrote it, the oldest first. */
  readonly events: readonly string[]
  readonly hasMoreEvents: boolean
}

const MOST_EVENTS = 2000

async function readRun(id: string, signal: AbortSignal): Promise<Shown> {
  const place = `/v1/runs/${encodeURIComponent(id)}`
  const [text, history] = await Promise.all([
    rawText(place, signal),
    rawText(`${place}/events?limit=${MOST_EVENTS}`, signal),
  ])
  return {
    run: (JSON.parse(text) as { readonly run: Run }).run,
    texts: membersOf(memberAt(text, 'run') ?? '{}'),
    events: elementsOf(memberAt(history, 'events') ?? '[]'),
    hasMoreEvents: memberAt(history, 'next_after') !== 'null',
  }
}

export default function RunPage({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const id = params['id'] ?? ''
  const { data, error, refresh } = useLive(`run ${id}`, (signal) => readRun(id, signal), {
    concerns: ({ areas, more }) => more || areas.has('runs'),
    atMostEveryMs: 2_000,
  })
  const shown = data.value
  if (shown === null) {
    if (error.value === null) return <p class="dim">Loading …</p>
    return (
      <div class="stack">
        <h1>Run</h1>
        <Problem error={error.value} />
        <Empty what="Retention removes runs that have ended. Those that there are:" command="petrel runs ls" />
      </div>
    )
  }
  const { run, texts } = shown
  return (
    <div class="stack">
      <header>
        <h1>
          <bdi class="long-name">{run.type}</bdi> <State state={run.status} /> {run.paused && <State state="paused" />}
        </h1>
        <p class="row">
          <code>{run.id}</code> <CopyButton text={run.id} label="copy" />
        </p>
      </header>
      <RunFacts run={run} />
      <RunWhy run={run} />
      <RunError text={texts.get('error') ?? 'null'} message={run.last_error} isFailed={run.status === 'failed'} />
      <RunActions run={run} onDone={refresh} />
      <Executions run={run} events={shown.events} />
      <Tabs
        label="Parts of the run"
        tabs={[
          { id: 'log', title: 'Log', content: () => <LogView key={run.id} run={run.id} /> },
          { id: 'data', title: 'Arguments and result', content: () => <RunData run={run} texts={texts} /> },
          { id: 'events', title: 'Events', content: () => <RunEvents shown={shown} /> },
        ]}
      />
    </div>
  )
}

function RunFacts({ run }: { readonly run: Run }) {
  return (
    <dl class="facts instance-facts">
      {run.instance_id !== null && (
        <div>
          <dt>
            <Term name="instance" />
          </dt>
          <dd>
            <a href={href(`/instances/${run.instance_id}`, { step: run.node, tab: 'steps' })}>
              <code>{run.instance_id}</code>
            </a>
            {run.node !== null && (
              <>
                , step <bdi class="long-name">{run.node}</bdi>
              </>
            )}
            {run.item !== null && `, item ${run.item}`}
            {run.role !== 'work' && ` (${run.role})`}
          </dd>
        </div>
      )}
      <div>
        <dt>
          <Term name="queue" />
        </dt>
        <dd>
          <a href={href('/queues', { queue: run.queue })}>
            <bdi class="long-name">{run.queue}</bdi>
          </a>
          , priority {run.priority}
        </dd>
      </div>
      <div>
        <dt>
          <Term name="attempt" label="attempts" />
        </dt>
        <dd>
          {run.attempt} of {run.max_attempts} failed
          {run.deferred && '; it is completed later, by its id'}
          {run.unknown && '; its outcome is unknown: it timed out, or its worker was lost'}
          {run.dead_letter && (
            <>
              ; it is a <Term name="dead letter" />
            </>
          )}
          {run.cancel_requested && '; its worker was asked to stop'}
        </dd>
      </div>
      <RunTimes run={run} />
      {run.idempotency_key !== null && (
        <div>
          <dt>key</dt>
          <dd>
            <bdi class="long-name">{run.idempotency_key}</bdi>
          </dd>
        </div>
      )}
      {run.tenant !== null && (
        <div>
          <dt>tenant</dt>
          <dd>
            <bdi>{run.tenant}</bdi>
          </dd>
        </div>
      )}
    </dl>
  )
}

function RunTimes({ run }: { readonly run: Run }) {
  const due = Date.parse(run.run_at)
  return (
    <>
      <div>
        <dt>time</dt>
        <dd>
          created <Moment at={run.created_at} />
          {run.status === 'pending' && !run.paused && due > now.value && (
            <>
              , due <Moment at={run.run_at} />
            </>
          )}
          {run.finished_at !== null && (
            <>
              , ended <Moment at={run.finished_at} />
            </>
          )}
          {run.deleted_at !== null && (
            <>
              , deleted <Moment at={run.deleted_at} />
            </>
          )}
        </dd>
      </div>
      {run.leased_by !== null && run.status === 'leased' && (
        <div>
          <dt>
            <Term name="lease" />
          </dt>
          <dd>
            <bdi>{run.leased_by}</bdi>
            {run.lease_until !== null && (
              <>
                , until <Moment at={run.lease_until} />
              </>
            )}
          </dd>
        </div>
      )}
    </>
  )
}

function RunError(props: { readonly text: string; readonly message: string | null; readonly isFailed: boolean }) {
  const { text, message, isFailed } = props
  if (message === null && text === 'null') return null
  const code: unknown = JSON.parse(membersOf(text).get('code') ?? 'null')
  return (
    <section class="problem failure" aria-label="What failed">
      <p>
        <strong>{isFailed ? 'It failed: ' : 'Its last execution failed: '}</strong>
        <bdi class="long-message">{message ?? text.slice(0, 5000)}</bdi>
      </p>
      {typeof code === 'string' && (
        <p>
          code <code>{code.slice(0, 200)}</code> · <a href={href('/errors', { q: code })}>failures like this</a> (
          <Term name="error group" />)
        </p>
      )}
    </section>
  )
}

function RunData({ run, texts }: { readonly run: Run; readonly texts: ReadonlyMap<string, string> }) {
  const parts = [
    { name: 'payload', title: 'Arguments' },
    { name: 'result', title: 'Result' },
    { name: 'error', title: 'Error' },
  ]
  return (
    <div class="stack">
      {parts.map(({ name, title }) => {
        const text = texts.get(name) ?? 'null'
        return (
          <section key={name} class="card">
            <h2>{title}</h2>
            {text === 'null' ? (
              <p class="dim">None.</p>
            ) : (
              <JsonText text={text} name={`${run.id}.${name}.json`} label={title} />
            )}
          </section>
        )
      })}
    </div>
  )
}

function RunEvents({ shown: { events, hasMoreEvents } }: { readonly shown: Shown }) {
  const filter = useSignal<EventFilter>(EVERYTHING)
  const read = useMemo(() => events.flatMap((text, at) => eventIn(text, at + 1) ?? []).reverse(), [events])
  const wanted = filter.value
  const rows = useMemo(() => read.filter((event) => passes(event, wanted)), [read, wanted])
  return (
    <>
      {hasMoreEvents && <p class="dim">The first {MOST_EVENTS} events are shown.</p>}
      <EventList label="Events" events={rows} filter={filter} />
    </>
  )
}
