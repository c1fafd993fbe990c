/** What can be done with debounced starts: to put, start or cancel one. */
import type { DebouncedRun, DebounceParams, DebounceRow } from '../../model/schedules/debounce.ts'
import type { StartDefinition } from '../../model/start.ts'
import type { Parts } from '../parts.ts'

export interface DebounceVerbs {
  /** It starts when no other start has followed under its key for a while; until then each one replaces the earlier. */
  debounceStart(params: StartDefinition, debounce: DebounceParams): Promise<DebounceRow>
  /** The same for a run. */
  debounceRun(params: DebouncedRun, debounce: DebounceParams): Promise<DebounceRow>
  /** Starts one before it is due. */
  startDebounced(id: string): Promise<DebounceRow>
  /** Nothing is started. */
  cancelDebounced(id: string): Promise<DebounceRow>
}

export function debounceVerbs({ debouncedStarts }: Parts): DebounceVerbs {
  return {
    debounceStart: (p, debounce) => debouncedStarts.put(p, debounce),
    debounceRun: (p, debounce) => debouncedStarts.putRun(p, debounce),
    startDebounced: (id) => debouncedStarts.fireNow(id),
    cancelDebounced: (id) => debouncedStarts.cancel(id),
  }
}
