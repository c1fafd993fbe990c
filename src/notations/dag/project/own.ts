/** What only workflows of steps show: the status block. */
import type { InstanceRow } from '../../../model/rows.ts'
import type { Own, Reading } from '../../interface/projection.ts'
import { loadShown } from './load.ts'
import { sheetOf } from './sheet.ts'

export async function ownOf(reading: Reading, instance: InstanceRow): Promise<Own | null> {
  const shown = await loadShown(reading, instance)
  if (shown === null) return null
  return { json: { status: shown.status }, counts: instance, sheet: (now) => sheetOf(shown, now) }
}
