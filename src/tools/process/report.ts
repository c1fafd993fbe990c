/** How a child that runs an author's code ended: its report on its own descriptor, or why there is none. */
import type { Json } from '../../net/net.ts'
import { aborted, type Fault } from '../envelope.ts'
import { spokenMs } from '../timeout.ts'
import type { ChildEnd } from './child.ts'
import { notStarted } from './folder.ts'

export interface Raised {
  readonly type: string
  readonly bases: readonly string[]
  readonly message: string
  readonly traceback: string
  /** Where the error occurred: libs, code, main, or result (which is not JSON). */
  readonly stage: string
  /** The exit code it requested. */
  readonly exit?: string
  /** The code of a system error, in JavaScript. */
  readonly code?: string
}

export type Report =
  | { readonly kind: 'result'; readonly result: Json }
  | { readonly kind: 'raised'; readonly raised: Raised }
  | { readonly kind: 'fault'; readonly fault: Fault }

export interface ReportParams {
  /** The kind of tool, for messages. */
  readonly kind: string
  readonly program: string
  readonly nonce: string
  readonly timeoutMs: number
  readonly resultBytes: number
}

export function readReport(end: ChildEnd, params: ReportParams): Report {
  const broken = brokenOff(end, params)
  if (broken !== null) return { kind: 'fault', fault: broken }
  const report = parsed(end.result, params.nonce)
  if (report === null) {
    const message = 'the code wrote to descriptor 3, which is kept for its result'
    return { kind: 'fault', fault: { kind: 'parse', code: 'RESULT_GARBLED', message, details: outputOf(end) } }
  }
  if ('error' in report) return { kind: 'raised', raised: report.error }
  return { kind: 'result', result: report.result }
}

function brokenOff(end: ChildEnd, { kind, program, timeoutMs, resultBytes }: ReportParams): Fault | null {
  const details = outputOf(end)
  switch (end.why) {
    case 'not_started':
      return notStarted(program, end.problem)
    case 'aborted':
      return aborted(kind)
    case 'timeout':
      return {
        kind: 'timeout',
        code: 'TIMEOUT',
        message: `the code did not end within ${spokenMs(timeoutMs)}`,
        details,
      }
    case 'result_too_large': {
      const message = `the result is longer than ${resultBytes} bytes of JSON; store it elsewhere and return a reference`
      return { kind: 'transform', code: 'RESULT_TOO_LARGE', message, details }
    }
    case 'ended':
      break
  }
  if (end.killedBy !== null) {
    const code = `KILLED_${end.killedBy}`
    return { kind: 'unknown', code, message: `the process was ended by ${end.killedBy}`, details }
  }
  if (end.result === '') {
    const message = `the process exited with ${end.code} before it gave a result`
    return { kind: 'unknown', code: `EXIT_${end.code}`, message, details }
  }
  return null
}

function parsed(text: string, nonce: string): { readonly result: Json } | { readonly error: Raised } | null {
  if (!text.startsWith(`${nonce}\n`)) return null
  try {
    return JSON.parse(text.slice(nonce.length + 1))
  } catch {
    return null
  }
}

const SHOWN = 2000

/** The printed output, if any, to help find the reason. */
export function outputOf({ stdout, stderr }: ChildEnd): { readonly [stream: string]: string } {
  return {
    ...(stdout === '' ? {} : { stdout: stdout.slice(-SHOWN) }),
    ...(stderr === '' ? {} : { stderr: stderr.slice(-SHOWN) }),
  }
}
