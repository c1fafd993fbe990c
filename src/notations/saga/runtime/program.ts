/** The program of a step's node, for the process that builds its command. */
import type { Json } from '../../../net/net.ts'

export interface SagaProgram {
  readonly step: string
  readonly subject: string
  readonly resendMs: number
  /** Template of the body; left out: code builds it, or the body is its input. */
  readonly body?: Json
  readonly [key: string]: Json | undefined
}

export const SAGA_QUEUE = 'saga'
/** The type of runs of sagas whose bodies are templates: any engine builds them. */
export const TEMPLATE_TYPE = 'saga.template'

/** Only processes that registered this version of this saga claim its runs. */
export function codeType(name: string, version: string): string {
  return `saga.code.${name}.v${version}`
}
