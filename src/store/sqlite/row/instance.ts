/** InstanceRow ↔ workflow_instance. */
import { INSTANCE } from '../../../model/rows.ts'
import { rowReader, selectOf } from './reader.ts'

export const INSTANCE_CELLS = selectOf(INSTANCE)
export const instanceOf = rowReader(INSTANCE)
