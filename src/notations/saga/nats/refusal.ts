/** Refused messages are stored where an operator can see them. */
import type { EngineApi } from '../../../engine/api.ts'
import type { Message } from './message.ts'

/** A message that can never be processed. */
export class Refusal extends Error {
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** The message's own fields. */
export interface About {
  readonly instanceId: string | null
  readonly stepId: string | null
}

export const UNKNOWN: About = { instanceId: null, stepId: null }

const MOST_BODY_BYTES = 4096
const MOST_ID = 200
const MOST_MESSAGE = 1000

export async function noteRefused(
  engine: EngineApi,
  { subject, data }: Message,
  { code, message }: Pick<Refusal, 'code' | 'message'>,
  { instanceId, stepId }: About,
): Promise<void> {
  await engine.commands.refused.note({
    subject,
    code,
    message: storable(message, MOST_MESSAGE),
    instanceId: instanceId === null ? null : storable(instanceId, MOST_ID),
    stepId: stepId === null ? null : storable(stepId, MOST_ID),
    body: storable(new TextDecoder().decode(data.subarray(0, MOST_BODY_BYTES)), MOST_BODY_BYTES),
  })
}

/** Postgres stores no NUL, and no half of a surrogate pair. */
function storable(text: string, most: number): string {
  return text.slice(0, most).replaceAll('\0', '\uFFFD').toWellFormed()
}
