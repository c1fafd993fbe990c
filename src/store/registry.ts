/** What operators write down for everybody: settings of queues, schemas of arguments. Few rows, rarely written. */
import type { JsonText } from './rows.ts'

export interface QueueConfigRow {
  readonly name: string
  readonly config: JsonText
  readonly updatedAt: number
  readonly updatedBy: string | null
}

export interface SchemaRow {
  readonly uri: string
  /** Of the jobs it is for. */
  readonly type: string
  readonly version: string
  readonly schema: JsonText
  readonly createdAt: number
  readonly createdBy: string | null
}

export interface Registry {
  queueConfigs(): Promise<readonly QueueConfigRow[]>
  putQueueConfig(row: QueueConfigRow): Promise<void>
  /** All, or those for one type, oldest first. */
  schemas(params: { readonly type: string | null }): Promise<readonly SchemaRow[]>
  schemaByUri(uri: string): Promise<SchemaRow | null>
  /** false: the URI, or the version of the type, is taken. */
  addSchema(row: SchemaRow): Promise<boolean>
  removeSchema(uri: string): Promise<boolean>
}
