import type { EngineApi } from '../../engine/api.ts'
import type { Reading } from '../../notations/interface/projection.ts'

/** What the shell shows an instance from, once an operation has found it. */
export interface ShellReading extends Reading, Pick<EngineApi, 'ended' | 'results'> {
  readonly registry: Pick<EngineApi['registry'], 'list'>
}
