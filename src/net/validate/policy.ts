/** What retries and durations must satisfy, and how a problem is reported. */
import type { Retry } from '../net.ts'

export interface Problem {
  readonly path: string
  readonly message: string
}

export type Report = (path: string, message: string) => void

export function checkRetry(retry: Retry | null, path: string, report: Report): void {
  if (retry === null) return
  if (!(Number.isInteger(retry.maxAttempts) && retry.maxAttempts >= 1)) {
    report(`${path}.maxAttempts`, 'a whole number of at least 1 (executions in all)')
  }
  if (!(retry.initialMs >= 0)) report(`${path}.initialMs`, 'milliseconds, 0 or more')
  if (!(retry.maxMs >= 0)) report(`${path}.maxMs`, 'milliseconds, 0 or more')
  if (!(retry.coefficient >= 1)) report(`${path}.coefficient`, 'a number of at least 1')
  if (!(retry.jitter >= 0 && retry.jitter <= 1)) report(`${path}.jitter`, 'a number from 0 to 1')
}

export function checkMs(ms: number | null, path: string, report: Report): void {
  if (ms !== null && !(ms > 0)) report(path, 'milliseconds, more than 0')
}
