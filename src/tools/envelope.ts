/** Answers of tools, and the form of their errors. */
import type { Json } from '../net/net.ts'
import type { Envelope, ErrorKind } from './tool.ts'

export function ok(result: Json): Envelope {
  return { status: 'ok', result, error: null }
}

export interface Fault {
  readonly kind: ErrorKind
  readonly code: string
  readonly message: string
  /** Left out: decided by whether errors of its kind are usually temporary. */
  readonly retryable?: boolean
  readonly details?: Json
  /** The partial result, if any. */
  readonly result?: Json
}

const PASSING: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  'connection',
  'timeout',
  'rate_limit',
  'server_error',
  'db_connection',
  'db_deadlock',
  'db_timeout',
])

export function fault({ kind, code, message, retryable, details, result }: Fault): Envelope {
  return {
    status: 'error',
    result: result ?? null,
    error: {
      kind,
      retryable: retryable ?? PASSING.has(kind),
      code,
      message: message.slice(0, LONGEST_MESSAGE),
      ...(details === undefined ? {} : { details }),
    },
  }
}

const LONGEST_MESSAGE = 2000

/** Thrown inside a tool, where it is caught and converted to an envelope. */
export class ToolFault extends Error {
  readonly fault: Fault

  constructor(fault: Fault) {
    super(fault.message)
    this.fault = fault
  }
}

/** A field that was a template at validation and has been rendered to an invalid value. */
export function misfit(message: string): ToolFault {
  return new ToolFault({ kind: 'schema', code: 'FIELD_INVALID', message })
}

export function aborted(kind: string): Fault {
  return { kind: 'cancelled', code: 'ABORTED', message: `${kind} was cancelled before it ended` }
}

/** For the one place in each tool where every exception becomes an envelope. */
export async function enveloped(work: () => Promise<Envelope>): Promise<Envelope> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ToolFault) return fault(error.fault)
    const { message, code } = error as Error & { readonly code?: unknown }
    return fault({
      kind: 'unknown',
      code: typeof code === 'string' ? code : 'TOOL_ERROR',
      message: message || String(error),
    })
  }
}
