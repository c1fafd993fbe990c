/**
 * Rows as this connection last wrote them: runs in flight, running instances, their slots; also which queues and limits
 * have no row. A settle mostly touches what the settle before it wrote, and reading that back took 20 of 140 µs per
 * step.
 *
 * It can be trusted because it is read only under the write lock, and only while `PRAGMA data_version` shows that no
 * other connection has committed since. A write of this process that does not list its changes empties it.
 */
import type { InstanceRow, RunRow } from '../../../model/rows.ts'
import type { Delta } from '../../../model/transaction.ts'
import type { Connection } from '../connection.ts'

const MOST = 20_000
/** Larger texts are read back: twenty thousand of them would be gigabytes. */
const LONGEST = 4_096

export class Recent {
  readonly runs = new Map<string, RunRow>()
  readonly instances = new Map<string, InstanceRow>()
  /** Key: `${instanceId}/${slot key}`; null: known absent. */
  readonly slots = new Map<string, string | null>()
  /** Queues, limits, types in the registry and pauses known to have no row, as `queue <name>`, `limit <key>` …. */
  readonly ruleless = new Set<string>()
  /** null: not read yet. */
  clockOffsetMs: number | null = null
  #version = -1

  /** At the beginning of a transaction, with the write lock held. Refuses what another process has migrated. */
  check(connection: Connection): void {
    const version = connection.statement('PRAGMA data_version').get()?.[0] as number
    if (version === this.#version) return
    this.forget()
    connection.checkSchema()
    this.#version = version
  }

  forget(): void {
    this.runs.clear()
    this.instances.clear()
    this.slots.clear()
    this.ruleless.clear()
    this.clockOffsetMs = null
  }

  /** After the commit of this delta. */
  keep(delta: Delta): void {
    for (const id of delta.runs?.remove ?? []) this.runs.delete(id)
    for (const run of delta.runs?.update ?? []) this.#keepRun(run)
    for (const run of delta.runs?.insert ?? []) this.#keepRun(run)
    // Signals change rows that are not named one by one, also those this delta has just written.
    if (delta.signal !== undefined && delta.signal.length > 0) this.runs.clear()
    for (const instance of delta.instances?.update ?? []) this.#keepInstance(instance)
    for (const instance of delta.instances?.insert ?? []) this.#keepInstance(instance)
    for (const { instanceId, key } of delta.slots?.remove ?? []) this.slots.set(`${instanceId}/${key}`, null)
    for (const { instanceId, key, value } of delta.slots?.put ?? []) this.#keepSlot(`${instanceId}/${key}`, value)
    if ((delta.queues?.length ?? 0) + (delta.limits?.length ?? 0) > 0 || delta.pauses !== undefined)
      this.ruleless.clear()
    for (const known of [this.runs, this.instances, this.slots, this.ruleless]) if (known.size > MOST) known.clear()
  }

  /** Only what is in flight: a pending run is next met as a candidate, which is read from the table. */
  #keepRun(run: RunRow): void {
    if (run.status === 'leased' && run.payload.length <= LONGEST) this.runs.set(run.id, run)
    else this.runs.delete(run.id)
  }

  #keepSlot(name: string, value: string): void {
    if (value.length <= LONGEST) this.slots.set(name, value)
    else this.slots.delete(name)
  }

  #keepInstance(instance: InstanceRow): void {
    if (instance.endedAt === null) this.instances.set(instance.id, instance)
    else this.instances.delete(instance.id)
  }
}
