/** A person's decision about a gate. */
import type { Json } from '../../net/net.ts'
import { anything, optional, text } from '../schema.ts'

export const DECISION = {
  answer: optional(anything('The result of the gate; must match its form.')),
  reason: optional(text({ description: 'Stored with the vote.', minLength: 1 })),
}

export interface Answer {
  readonly answer?: unknown
  readonly reason?: string | null
}

export function answerOf({ answer, reason = null }: Answer): { readonly answer?: Json; readonly reason?: string } {
  return { ...(answer === undefined ? {} : { answer: answer as Json }), ...(reason === null ? {} : { reason }) }
}
