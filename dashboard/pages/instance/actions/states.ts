/** What actions depend on. */
import type { Instance as Shown } from '../model.ts'

export type Instance = Pick<Shown, 'state' | 'phase' | 'outcome' | 'dialect' | 'paused' | 'parent_id' | 'start_key'>

export const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled', 'compensated'])
