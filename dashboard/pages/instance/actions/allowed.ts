/** What the state of an instance permits. null: it can be done; otherwise the reason why not. */
import { ENDED, type Instance } from './states.ts'

/** Cancelling such an instance undoes its completed work. */
const CANCEL_UNDOES: ReadonlySet<string> = new Set(['saga'])

export function cancelUndoes({ dialect }: Pick<Instance, 'dialect'>): boolean {
  return CANCEL_UNDOES.has(dialect)
}

export function whyNotCancel({ state, phase }: Instance): string | null {
  if (ENDED.has(state)) return `it has ended: ${state}`
  if (state === 'cancelling') return 'it is being cancelled'
  return phase === 'undo' || state === 'compensating' ? 'it is undoing its work' : null
}

/** Undoing without being a cancel is a bulk operation, which needs a query that finds this instance only. */
export function whyNotRollBack({ state, phase, start_key: key, parent_id: parent }: Instance): string | null {
  if (ENDED.has(state)) return `it has ended: ${state}`
  if (phase !== 'forward') return 'it is ending already'
  if (parent !== null) return 'it is nested: roll back its root'
  return key === null ? 'only an instance with a start key can be named by the bulk operation that rolls back' : null
}

export function whyNotPause({ state, paused, parent_id: parent }: Instance): string | null {
  if (parent !== null) return 'it is nested: pause its root'
  if (ENDED.has(state)) return `it has ended: ${state}`
  return paused ? 'it is paused already' : null
}

export function whyNotResume({ paused, parent_id: parent }: Instance): string | null {
  if (parent !== null) return 'it is nested: resume its root'
  return paused ? null : 'it is not paused'
}

export function whyNotRetry({ state, outcome, parent_id: parent }: Instance): string | null {
  if (!ENDED.has(state)) return `it has not ended: ${state}`
  if (state === 'completed' && outcome === 'success') return 'it completed: fork it instead'
  return parent === null ? null : 'it is nested: retry it from one of its steps, or retry its root'
}

export function whyNotRetryFrom(instance: Instance): string | null {
  return whyNotRetry({ ...instance, parent_id: null })
}

export function whyNotFork({ state }: Instance): string | null {
  return ENDED.has(state) ? null : `it has not ended: ${state}`
}

export function whyNotRetryNow({ state, paused }: Instance): string | null {
  if (ENDED.has(state)) return `it has ended: ${state}`
  if (state === 'idle') return 'it has not been started'
  return paused ? 'it is paused: resume it' : null
}

export function whyNotPatch({ state }: Instance): string | null {
  return ENDED.has(state) ? `it has ended: ${state}` : null
}

export function whyNotStart({ state, paused }: Instance): string | null {
  if (state !== 'idle') return ENDED.has(state) ? `it has ended: ${state}` : 'it has been started'
  return paused ? 'it is paused: resume it' : null
}
