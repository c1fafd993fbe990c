/** What only playbooks show: the execution. */
import type { InstanceRow } from '../../../model/rows.ts'
import type { Own, Reading } from '../../interface/projection.ts'
import type { Progress } from '../../interface/sheet.ts'
import { loadExecution } from './load.ts'
import { progressOf, sheetOf } from './sheet.ts'

export async function ownOf(reading: Reading, instance: InstanceRow): Promise<Own | null> {
  const loaded = await loadExecution(reading, instance)
  if (loaded === null) return null
  const { execution } = loaded
  return { json: { execution }, counts: execution.counts, sheet: (now) => sheetOf(loaded, now) }
}

export async function progressAt(
  reading: Reading,
  instance: InstanceRow,
  { now, most }: { readonly now: number; readonly most: number },
): Promise<Progress | null> {
  const loaded = await loadExecution(reading, instance)
  return loaded === null ? null : progressOf(loaded, now, most)
}
