/** All about the selected part: its state, why it waits and what helps, what went in and came out, and its log. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { JsonValue } from '../../ui/json/json.tsx'
import { Moment, Took } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { State } from '../../ui/state.tsx'
import type { Face } from '../canvas/picture.ts'
import type { Source } from '../instance-model.ts'
import type { Part } from '../model/drawing.ts'
import { readStep, type Step } from '../step.ts'
import { Input, Log, Output } from './data.tsx'
import { Items } from './items.tsx'
import { PartFacts } from './part-facts.tsx'
import { Why } from './why.tsx'

export interface NodePanelProps {
  readonly source: Source
  readonly part: Part
  readonly face: Face
  /** The keys of the nested workflows it is in, and its own. */
  readonly path: readonly string[]
  readonly isOpen: boolean
  /** Opens or closes a nested workflow in the graph; resolves to why it cannot. */
  readonly onToggle: () => Promise<string | null>
  readonly onClose: () => void
}

export function NodePanel(props: NodePanelProps) {
  const { source, part, face, path, onClose } = props
  const { id, drawing } = source
  const step = useLive(`${id} ${part.key}`, (signal) => readStep(id, drawing, part.key, signal), {
    concerns: ({ instances, more }) => more || instances.has(id),
  })
  const known = step.data.value
  const isUndo = part.shape === 'undo'
  return (
    <aside class="graph-panel" aria-label={`Step ${part.label.slice(0, 200)}`}>
      <header class="row">
        <h2 class="grow">
          {path.slice(0, -1).map((key, i) => (
            <span key={i} class="dim">
              <bdi>{key}</bdi> ›{' '}
            </span>
          ))}
          <bdi>{part.label}</bdi>
        </h2>
        <button type="button" class="plain" aria-label="Close the panel" onClick={onClose}>
          ✕
        </button>
      </header>
      <p class="row">
        <State state={isUndo ? (known?.undo?.state ?? 'pending') : face.state} />
        {!isUndo && known !== null && <Attempts step={known} />}
      </p>
      {step.error.value !== null && <Problem error={step.error.value} />}
      {part.shape === 'child' && <Nested {...props} step={known} />}
      {!isUndo && <Why source={source} part={part} face={face} />}
      {known !== null && <Facts step={known} isUndo={isUndo} />}
      <details open={known === null}>
        <summary>In the net</summary>
        <PartFacts part={part} />
      </details>
      {part.shape === 'list' && <Items id={id} node={part.key} />}
      {known !== null && <Data id={id} step={known} isUndo={isUndo} />}
    </aside>
  )
}

function Attempts({ step }: { readonly step: Step }) {
  return (
    <span class="dim">
      {step.attempts > 1 && <>attempt {step.attempts} · </>}
      {step.started_at !== null && (
        <>
          <Moment at={step.started_at} /> · <Took from={step.started_at} to={step.ended_at} />
        </>
      )}
    </span>
  )
}

function Facts({ step, isUndo }: { readonly step: Step; readonly isUndo: boolean }) {
  const { undo } = step
  const run = isUndo ? (undo?.run_id ?? null) : step.run_id
  const error = isUndo ? undo?.error : step.error
  return (
    <>
      <dl class="facts">
        {run !== null && (
          <>
            <dt>run</dt>
            <dd>
              <a href={href(`/runs/${run}`)}>{run}</a> <CopyButton text={run} label="id" />
            </dd>
          </>
        )}
        {step.worker !== null && !isUndo && (
          <>
            <dt>worker</dt>
            <dd>
              <bdi>{step.worker}</bdi>
            </dd>
          </>
        )}
        {step.decided_by !== null && (
          <>
            <dt>decided by</dt>
            <dd>
              <bdi>{step.decided_by}</bdi>
            </dd>
          </>
        )}
        {undo !== null && !isUndo && (
          <>
            <dt>undo</dt>
            <dd>
              <State state={undo.state} /> <a href={href(`/runs/${undo.run_id}`)}>its run</a>
            </dd>
          </>
        )}
      </dl>
      {error !== null && error !== undefined && (
        <section>
          <h3>Error</h3>
          <p class="problem">
            <bdi>{messageOf(error)}</bdi>
          </p>
          <JsonValue value={error} label="Error" />
        </section>
      )}
    </>
  )
}

function messageOf(error: unknown): string {
  const { message, code } = error as { readonly message?: unknown; readonly code?: unknown }
  return String(message ?? code ?? 'failed').slice(0, 2000)
}

/** Of a nested workflow: its own page, and its graph inside this one. */
function Nested({ step, isOpen, onToggle }: NodePanelProps & { readonly step: Step | null }) {
  const refused = useSignal<string | null>(null)
  const child = step?.child_id ?? null
  return (
    <p class="row">
      <button
        type="button"
        class="small"
        aria-pressed={isOpen}
        disabled={child === null}
        onClick={() =>
          void onToggle().then((reason) => {
            refused.value = reason
          })
        }
      >
        {isOpen ? 'Close in the graph' : 'Open in the graph'}
      </button>
      {child !== null && <a href={href(`/instances/${child}`)}>Nested workflow</a>}
      {refused.value !== null && <span class="dim">{refused.value}</span>}
    </p>
  )
}

type Shown = 'input' | 'output' | 'log'

/** Read when they are opened. */
function Data({ id, step, isUndo }: { readonly id: string; readonly step: Step; readonly isUndo: boolean }) {
  const shown = useSignal<ReadonlySet<Shown>>(new Set())
  const run = isUndo ? (step.undo?.run_id ?? null) : step.run_id
  useEffect(() => {
    // A step that has failed is looked at for its log.
    shown.value = new Set(step.state === 'failed' && run !== null ? ['log'] : [])
  }, [id, step.name])
  const section = (name: Shown, title: string, content: () => preact.ComponentChildren) => (
    <details
      open={shown.value.has(name)}
      onToggle={(event) => {
        const next = new Set(shown.value)
        if (event.currentTarget.open) next.add(name)
        else next.delete(name)
        shown.value = next
      }}
    >
      <summary>{title}</summary>
      {shown.value.has(name) && content()}
    </details>
  )
  return (
    <>
      {run !== null && section('input', 'Input', () => <Input run={run} />)}
      {step.state === 'completed' && !isUndo && section('output', 'Output', () => <Output id={id} node={step.name} />)}
      {run !== null && section('log', 'Log', () => <Log run={run} />)}
    </>
  )
}
