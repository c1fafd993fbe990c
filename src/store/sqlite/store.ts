/** Opens a store on an SQLite file: one file, no service. */
import { readSchemaFiles } from '../schema-files.ts'
import type { Store } from '../store.ts'
import { readClock, writeOffset } from './clock.ts'
import { Connection, type Probe } from './connection.ts'
import { checkSchema, migrate, schemaGuard } from './migrate.ts'
import { probeWrite } from './probe.ts'
import { queueingOn } from './read/queueing.ts'
import { readsOn } from './read/reads.ts'
import { reset } from './reset.ts'
import { sweepsOn } from './sweep/sweeps.ts'
import { bulkOn } from './tables/bulk.ts'
import { commandsOn } from './tables/commands.ts'
import { definitionsOn } from './tables/definitions.ts'
import { errorGroupsOn } from './tables/errors.ts'
import { timetableOn } from './tables/fires.ts'
import { inboxSchedulesOn } from './tables/inbox-schedules.ts'
import { keysOn } from './tables/keys.ts'
import { logsOn } from './tables/logs.ts'
import { overviewOn } from './tables/overview.ts'
import { pausesOn } from './tables/pauses.ts'
import { registryOn } from './tables/registry.ts'
import { sagasOn } from './tables/sagas.ts'
import { savedOn } from './tables/saved.ts'
import { signInsOn } from './tables/sign-ins.ts'
import { webhooksOn } from './tables/webhooks.ts'
import { transact } from './transact.ts'
import { WakePoll } from './wake.ts'
import { DeltaWriter } from './write/apply.ts'

export interface SqliteParams {
  /** A file, created if it does not exist, or `:memory:`. */
  readonly path: string
  readonly probe?: Probe
  /** How often to look for commits of other processes. */
  readonly wakePollMs?: number
}

const WAKE_POLL_MS = 15

export async function openSqlite({ path, probe, wakePollMs }: SqliteParams): Promise<Store> {
  const connection = await Connection.open(path, probe ?? null)
  try {
    const files = await readSchemaFiles('sqlite')
    await connection.read(() => checkSchema(connection, files))
    await connection.prepareForWriting()
    connection.checkSchema = schemaGuard(connection, files)
  } catch (error) {
    await connection.close()
    throw error
  }
  const writer = new DeltaWriter(connection)
  const wakes = new WakePoll(connection, wakePollMs ?? WAKE_POLL_MS)
  const definitions = definitionsOn(connection)
  const inboxSchedules = inboxSchedulesOn(connection)
  const now = () => connection.read(() => readClock(connection))
  return {
    kind: 'sqlite',
    migrate: () => migrate(connection),
    close: () => {
      wakes.stop()
      return connection.close()
    },
    offload: () => connection.offload(),
    now,
    probeWrite: () => probeWrite(connection),
    moveClock: (offsetMs) => connection.write(() => writeOffset(connection, offsetMs)),
    transact: (transaction) => transact(connection, writer, transaction),
    onWake: (listener) => wakes.listen(listener),
    // Every commit already notifies the other processes.
    wake: () => {},
    reset: () => connection.write(() => reset(connection)),
    read: {
      ...readsOn(connection),
      definitions,
      sagas: sagasOn(connection),
      overview: overviewOn(connection),
      queueing: queueingOn(connection),
      timetable: timetableOn(connection, inboxSchedules),
      now,
    },
    sweep: sweepsOn(connection),
    keys: keysOn(connection),
    signIns: signInsOn(connection),
    saved: savedOn(connection),
    logs: logsOn(connection),
    webhooks: webhooksOn(connection),
    registry: registryOn(connection),
    inboxSchedules,
    definitions,
    commands: commandsOn(connection),
    bulk: bulkOn(connection),
    errorGroups: errorGroupsOn(connection),
    pauses: pausesOn(connection),
  }
}
