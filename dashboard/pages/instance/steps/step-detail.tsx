/** One step: why it waits, its attempts, input, output, error, log and items. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { rawText } from '../../../api/client.ts'
import { useLive } from '../../../api/live.ts'
import { href, setQuery } from '../../../browser/router.ts'
import { CopyButton } from '../../../ui/copy.tsx'
import { JsonText, JsonValue } from '../../../ui/json/json.tsx'
import { memberAt } from '../../../ui/json/json-members.ts'
import { LogView } from '../../../ui/log/log-view.tsx'
import { Moment, span } from '../../../ui/moments.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { State } from '../../../ui/state.tsx'
import { about, failureOf, payloadOf, type Wait } from '../model.ts'
import { Attempts } from './attempts.tsx'
import { Items } from './items.tsx'
import { countsOf, type Step, stepNamed } from './read.ts'
import { Waits } from './reasons.tsx'

interface Props {
  readonly instance: string
  readonly name: string
  /** As the table has it; null: it is not among the rows that were read. */
  readonly row: Step | null
  readonly waits: readonly Wait[]
  readonly isRunning: boolean
}

export function StepDetail({ instance, name, row, waits, isRunning }: Props) {
  return (
    <section class="card step-detail stack" aria-label={`Step ${name.slice(0, 200)}`}>
      <header class="row">
        <h2 class="grow">
          <bdi class="long-name">{name}</bdi>
        </h2>
        <CopyButton text={name} label="name" />
        <button
          type="button"
          class="plain"
          aria-label="Close the step"
          onClick={() => setQuery({ step: null, in: null })}
        >
          ✕
        </button>
      </header>
      {row === null ? (
        <ReadStep instance={instance} name={name} isRunning={isRunning} />
      ) : (
        <StepParts instance={instance} step={row} waits={waits} isRunning={isRunning} />
      )}
    </section>
  )
}

function ReadStep({ instance, name, isRunning }: Pick<Props, 'instance' | 'name' | 'isRunning'>) {
  const { data, error, loading } = useLive(`step ${instance} ${name}`, (signal) => stepNamed(instance, name, signal), {
    concerns: about(instance),
    atMostEveryMs: 5_000,
  })
  if (error.value !== null) return <Problem error={error.value} />
  if (data.value === null) return <p class="dim">{loading.value ? 'Loading …' : 'There is no such step.'}</p>
  return <StepParts instance={instance} step={data.value} waits={[]} isRunning={isRunning} />
}

function StepParts(props: {
  readonly instance: string
  readonly step: Step
  readonly waits: readonly Wait[]
  readonly isRunning: boolean
}) {
  const { instance, step, waits, isRunning } = props
  const { name, run_id: run, kind, error } = step
  const isList = countsOf(step) !== null
  const failure = failureOf(error)
  return (
    <>
      <StepFacts instance={instance} step={step} />
      {waits.length > 0 && (
        <section class="waiting-note">
          <h3>Why it is not done</h3>
          <Waits waits={waits} id={instance} />
        </section>
      )}
      {failure !== null && (
        <Part title="Error" open>
          <p class="long-message">
            <bdi>{failure.message}</bdi>
          </p>
          <JsonValue value={error} label={`error of ${name.slice(0, 80)}`} />
        </Part>
      )}
      {isList && <Items instance={instance} name={name} step={step} />}
      {!isList && (kind === 'run' || waits.length === 0) && (
        <Attempts instance={instance} name={name} showsReasons={waits.length === 0} />
      )}
      {run !== null && (
        <Part title="Input">
          <Raw key={run} read={(signal) => payloadOf(run, signal)} name="input.json" label="input of the step" />
        </Part>
      )}
      {(step.state === 'completed' || isList) && (
        <Part title="Output">
          <Raw
            key={name}
            read={(signal) => resultOf(instance, name, signal)}
            name="output.json"
            label="output of the step"
          />
        </Part>
      )}
      {run !== null && (
        <Part title="Log" open={isRunning}>
          <LogView run={run} />
        </Part>
      )}
      <p class="row">
        <button type="button" class="small" onClick={() => setQuery({ tab: 'events', node: name })}>
          Its events
        </button>
        <button type="button" class="small" onClick={() => setQuery({ tab: 'compare' })}>
          Compare with the last success
        </button>
      </p>
    </>
  )
}

async function resultOf(instance: string, name: string, signal: AbortSignal): Promise<string> {
  const path = `/v1/instances/${encodeURIComponent(instance)}/results/${encodeURIComponent(name)}`
  return memberAt(await rawText(path, signal), 'result') ?? 'null'
}

/** Read when it is opened. */
function Part(props: { readonly title: string; readonly open?: boolean; readonly children: ComponentChildren }) {
  const isOpen = useSignal(props.open ?? false)
  return (
    <details
      open={isOpen.value}
      onToggle={({ currentTarget }) => {
        isOpen.value = currentTarget.open
      }}
    >
      <summary>{props.title}</summary>
      {isOpen.value && props.children}
    </details>
  )
}

function Raw(props: {
  readonly read: (signal: AbortSignal) => Promise<string>
  readonly name: string
  readonly label: string
}) {
  const { data, error } = useLive(props.label, props.read, { concerns: () => false })
  if (error.value !== null) return <Problem error={error.value} />
  if (data.value === null) return <p class="dim">Loading …</p>
  return <JsonText text={data.value} name={props.name} label={props.label} />
}

function StepFacts({ instance, step }: { readonly instance: string; readonly step: Step }) {
  const { state, kind, type, queue, attempts, retries, duration_ms: took, worker, decided_by: who, undo } = step
  return (
    <dl class="facts">
      <dt>state</dt>
      <dd>
        <State state={state} /> {took !== null && `took ${span(took)}`}{' '}
        {step.started_at !== null && (
          <>
            started <Moment at={step.started_at} />
          </>
        )}
      </dd>
      <dt>work</dt>
      <dd>
        {kind}
        {type !== null && (
          <>
            {' '}
            <code>{type.slice(0, 500)}</code> on queue{' '}
            <a href={href('/queues', { queue })}>
              <bdi>{queue}</bdi>
            </a>
          </>
        )}
      </dd>
      {kind === 'run' && (
        <>
          <dt>attempts</dt>
          <dd>
            {attempts}
            {retries > 0 && `, ${retries} retried`}
            {worker !== null && (
              <>
                ; last by <bdi>{worker}</bdi>
              </>
            )}
          </dd>
        </>
      )}
      <StepLinks instance={instance} step={step} />
      {who !== null && (
        <>
          <dt>decided by</dt>
          <dd>
            <bdi>{who}</bdi>
          </dd>
        </>
      )}
      {undo !== null && (
        <>
          <dt>undo</dt>
          <dd>
            <State state={undo.state} /> <a href={href(`/runs/${undo.run_id}`)}>run of the undo</a>
          </dd>
        </>
      )}
    </dl>
  )
}

const MOST_DEPENDENCIES = 30

function StepLinks({ instance, step }: { readonly instance: string; readonly step: Step }) {
  const { run_id: run, child_id: child, gate_id: gate, depends_on: before, on_failure: onFailure } = step
  return (
    <>
      {(run !== null || child !== null || gate !== null) && (
        <>
          <dt>opens</dt>
          <dd>
            {run !== null && <a href={href(`/runs/${run}`)}>its run</a>}{' '}
            {child !== null && <a href={href(`/instances/${child}`)}>the nested instance</a>}{' '}
            {gate !== null && <a href={href(`/gates/${gate}`)}>its gate</a>}
          </dd>
        </>
      )}
      {before.length > 0 && (
        <>
          <dt>after</dt>
          <dd>
            {before.slice(0, MOST_DEPENDENCIES).map((name) => (
              <a key={name} class="tag" href={href(`/instances/${instance}`, { tab: 'steps', step: name })}>
                <bdi>{name.slice(0, 200)}</bdi>
              </a>
            ))}
            {before.length > MOST_DEPENDENCIES && ` and ${before.length - MOST_DEPENDENCIES} more`}
          </dd>
        </>
      )}
      <dt>on failure</dt>
      <dd>{onFailure}</dd>
    </>
  )
}
