/** Words and links of bulk operations. */
import { href } from '../../browser/router.ts'
import { choiceOf } from '../../ui/bulk/orders.ts'
import type { Operation } from '../../ui/bulk/progress-bar.tsx'
import { State } from '../../ui/state.tsx'

/** `Retry instances` */
export function acted({ action, target }: Operation): string {
  return `${choiceOf(target, action).label} ${target}`
}

/** Words of states that have a look: an operation that runs, that waits, that has ended. */
const LOOKS = { running: 'running', stopped: 'paused', completed: 'completed' } as const

export function OperationState({ state }: { readonly state: Operation['state'] }) {
  return <State state={LOOKS[state]} label={state} />
}

/** What it was ordered for, as the list of what that finds now. */
export function QueryLink({ operation: { q, target, filter } }: { readonly operation: Operation }) {
  if (filter !== null) return <span title={JSON.stringify(filter)}>a list of jobs: {JSON.stringify(filter)}</span>
  return (
    <a href={href(`/${target}`, { q })} title={q === '' ? 'everything' : q}>
      {q === '' ? 'everything' : <code>{q}</code>}
    </a>
  )
}
