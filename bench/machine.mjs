// @ts-check
/** Describes the machine of the measurement. */
import { cpus, loadavg, platform, release, totalmem } from 'node:os'
import pg from 'pg'
import { sleep } from './figures.mjs'

export function describeMachine() {
  const all = cpus()
  const memoryGb = Math.round(totalmem() / 2 ** 30)
  const [load = 0] = loadavg()
  const text =
    `Node ${process.version} on ${platform()} ${release()}, ${all.length} × ${all[0]?.model.trim() ?? 'processor'}, ` +
    `${memoryGb} GB, load ${load.toFixed(1)}`
  return { node: process.version, processors: all.length, model: all[0]?.model ?? null, memoryGb, load, text }
}

/** Share of all processors used by other processes during the next `ms`. @param {number} ms */
export async function busyShare(ms) {
  const before = times()
  await sleep(ms)
  const after = times()
  return 1 - (after.idle - before.idle) / Math.max(1, after.all - before.all)
}

function times() {
  let idle = 0
  let all = 0
  for (const { times } of cpus()) {
    idle += times.idle
    all += times.idle + times.user + times.sys + times.nice + times.irq
  }
  return { idle, all }
}

/** @param {'sqlite' | 'postgres'} store @param {string} url */
export async function describeServer(store, url) {
  if (store === 'sqlite') return 'SQLite: one file, WAL, synchronous=FULL'
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
       current_setting('synchronous_commit') AS synchronous`,
  )
  await client.end()
  const [{ version, fsync, synchronous }] = rows
  return `Postgres ${version.split(' ')[0]}: fsync=${fsync}, synchronous_commit=${synchronous}`
}
