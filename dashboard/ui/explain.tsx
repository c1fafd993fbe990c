/** A term of the glossary, explained where it stands. */
import { useId } from 'preact/hooks'

const TERMS = {
  instance: 'One execution of a workflow. A nested workflow is an instance of its own, in the same tree.',
  definition: 'What an author wrote: a file with a name and versions, compiled once.',
  run: 'One unit of work that a worker takes, executes and reports.',
  lease: 'A worker’s hold on a run. It ends with the report, or when the worker is not heard from in time.',
  attempt: 'One execution of a run. A run that fails may be tried again, as its retry policy says.',
  gate: 'A step that waits for a decision by people.',
  quorum: 'How many people must approve.',
  'error group': 'Failures for good with the same cause: type, code, message without numbers and ids, and step.',
  'dead letter': 'A run that failed for good and is kept, so that it can be done again.',
  pause: 'Nothing new begins. Work that a worker holds may end.',
  undo: 'Compensation: completed steps are undone, the last one first.',
  deadline: 'The time by which the whole workflow must have ended.',
  'held token': 'A step that may not begin yet, because a rule of the workflow does not admit it.',
  queue: 'What groups runs for workers. It can be paused and limited.',
  limit: 'How many runs with the same key may execute at a time, or start per second.',
  utilisation: 'The share of time in which the slots for this work were busy.',
  'queue wait': 'From the time a run was due until a worker took it.',
  epoch: 'Counts the leases of a run. A report under an earlier one is refused.',
  backfill: 'Runs a schedule for times that have passed.',
  net: 'What every definition is compiled to. It is never changed; its hash names it.',
} as const

export type TermName = keyof typeof TERMS

export function Term({ name, label }: { readonly name: TermName; readonly label?: string }) {
  const id = useId()
  return (
    <span class="term">
      <button type="button" class="term-name" popovertarget={id}>
        {label ?? name}
      </button>
      <span id={id} popover="auto" class="term-text">
        <strong>{name}</strong> {TERMS[name]}
      </span>
    </span>
  )
}
