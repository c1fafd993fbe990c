/** A person's decision about a gate. */
import type { Json } from '../../net/net.ts'
import { anything, optional, text } from '../schema.ts'

export const DECISION = {
  answer: optional(anything('What the gate gives as its result; must fit its form.')),
  reason: optional(text({ description: 'Kept with the vote.', minLength: 1 })),
}

export interface Answer {
  readonly answer?: unknown
  readonly reason?: string | null
}

export function answerOf({ answer, reason = null }: Answer): { readonly answer?: Json; readonly reason?: string } {
  return { ...(answer === undefined ? {} : { answer: answer as Json }), ...(reason === null ? {} : { reason }) }
}
