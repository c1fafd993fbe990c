/** The steps of a saga in the order in which they were sent, each with its command, its answer and its undo. */
import type { Answer } from '../../api/answer.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { JsonValue } from '../../ui/json/json.tsx'
import { Moment, Took } from '../../ui/moments.tsx'
import { State } from '../../ui/state.tsx'

type Loaded = Answer<'GET /v1/sagas/:id'>
type Step = Loaded['steps'][number]

export function SagaSteps({
  steps,
  effects,
}: {
  readonly steps: Loaded['steps']
  readonly effects: Loaded['open_effects']
}) {
  if (steps.length === 0) return <p class="dim">No command has been stored yet.</p>
  const open = new Set(effects.map(({ step_id: id }) => id))
  return (
    <ol class="saga-steps">
      {steps.map((step) => (
        <StepCard key={step.id} step={step} isOpen={open.has(step.id)} />
      ))}
    </ol>
  )
}

const LOOKS = { in_progress: 'waiting', completed: 'completed', failed: 'failed' } as const
const WORDS = { in_progress: 'awaits its answer', completed: 'completed', failed: 'failed' } as const

function StepCard({ step, isOpen }: { readonly step: Step; readonly isOpen: boolean }) {
  const { id, name, state, step_index: index, command_subject: subject, error } = step
  const isUndo = index < 0
  return (
    <li class={`card ${isUndo ? 'undo-step' : ''}`}>
      <div class="row">
        <strong class="grow">
          {isUndo && <span class="dim">↶ undo of </span>}
          <bdi>{name}</bdi>
        </strong>
        {isOpen && <span class="dim">effect open</span>}
        <State state={LOOKS[state]} label={WORDS[state]} />
      </div>
      <dl class="facts">
        <dt>Command</dt>
        <dd>
          <code>{subject}</code>{' '}
          {step.command_published_at === null ? (
            <span class="dim">stored, not published</span>
          ) : (
            <span class="dim">
              published <Moment at={step.command_published_at} />
            </span>
          )}
        </dd>
        <dt>Time</dt>
        <dd>
          {step.started_at === null ? (
            <span class="dim">not begun</span>
          ) : (
            <Took from={step.started_at} to={step.completed_at} />
          )}
        </dd>
        <dt>Step id</dt>
        <dd>
          <code>{id}</code> <CopyButton text={id} label="copy" />
        </dd>
        {!isUndo && (
          <>
            <dt>Undone by</dt>
            <dd>
              {step.compensation_subject === '' ? (
                <span class="dim">nothing</span>
              ) : (
                <code>{step.compensation_subject}</code>
              )}
            </dd>
          </>
        )}
      </dl>
      {error !== null && (
        <p class="step-error">
          <bdi>{error}</bdi>
        </p>
      )}
      <div class="row step-bodies">
        <Body title="Command" value={step.command} />
        <Body title="Answer" value={step.response} />
        <Body title="Compensation" value={step.compensation} />
      </div>
    </li>
  )
}

function Body({ title, value }: { readonly title: string; readonly value: unknown }) {
  if (value === null || value === undefined) return null
  return (
    <details>
      <summary>{title}</summary>
      <JsonValue value={value} label={title} />
    </details>
  )
}
