/** What retries and durations must satisfy, and how a problem is reported. */
import { problemsOfRetry, type Retry } from '../retry/retry.ts'

export interface Problem {
  readonly path: string
  readonly message: string
}

export type Report = (path: string, message: string) => void

export function checkRetry(retry: Retry | null, path: string, report: Report): void {
  if (retry === null) return
  for (const { field, rule } of problemsOfRetry(retry)) report(`${path}.${field}`, rule)
}

export function checkMs(ms: number | null, path: string, report: Report): void {
  if (ms !== null && !(ms > 0)) report(path, 'milliseconds, more than 0')
}
