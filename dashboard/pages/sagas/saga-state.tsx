/** The states of sagas and their steps, in the looks of instances. */
import { State } from '../../ui/state.tsx'

export const SAGA_STATES = ['in_progress', 'compensating', 'completed', 'failed', 'compensated'] as const

export function SagaState({ state }: { readonly state: string }) {
  return state === 'in_progress' ? <State state="running" label="in progress" /> : <State state={state} />
}
