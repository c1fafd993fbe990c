// @ts-check
/**
 * A process to be killed. It finishes the waves its predecessor left behind, then starts wave after wave until it is
 * killed: by the parent at any moment, or where it stops itself (after reporting it) at the k-th pass of a named point.
 *
 *   { finish: [wave…], next: name | null, arm: { point, at } | null, swept } →
 *   { ready }, { finished: wave, ends }…, then { began: wave }, { finished: wave, ends }…, { stopped: point }
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const settings = JSON.parse(/** @type {string} */ (process.argv[2]))
const { handlers, workloads } = await import(new URL(settings.workloads ?? 'workloads.mjs', import.meta.url).href)
const load = (/** @type {string} */ file) => import(pathToFileURL(`${settings.dist}/${file}`).href)
const [index, { Engine, openDatabase, openStore, petrelOn, readDefinition }] = await Promise.all([
  load('index.js'),
  load('insides.js'),
])

const sdk = { ...index, readDefinition }

const say = (/** @type {object} */ line) => void writeSync(1, `${JSON.stringify(line)}\n`)

// ── the named points ─────────────────────────────────────────────────────────────────────────────────────────────

/** @type {{ point: string, at: number } | null} */
let armed = null
let passed = 0

function trap(/** @type {string} */ point) {
  if (armed === null || armed.point !== point || ++passed < armed.at) return
  say({ stopped: point })
  // Blocks the whole process, as if the machine had stopped here.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
}

/** The transaction of a commit: only those that settle outcomes, or outcomes of given types, are stopped. */
const current = /** @type {AsyncLocalStorage<{ settles: boolean, of: ReadonlySet<string> }>} */ (
  new AsyncLocalStorage()
)
const inner = await openStore(settings.url, {
  probe: (/** @type {string} */ point) => {
    const { settles = false, of = [] } = current.getStore() ?? {}
    if (settles) trap(point)
    for (const what of of) trap(`${point} of ${what}`)
  },
})

function transact(/** @type {any} */ transaction) {
  const state = { settles: false, of: new Set() }
  const decide = (/** @type {any} */ loaded) => {
    const decision = transaction.decide(loaded)
    const changed = decision.delta?.runs?.update ?? []
    state.settles = changed.some((/** @type {any} */ run) => run.epoch > (loaded.runs.get(run.id)?.epoch ?? run.epoch))
    state.of = new Set(changed.flatMap((/** @type {any} */ run) => settled(run, decision.delta.runs.insert ?? [])))
    return decision
  }
  return current.run(state, () => inner.transact({ ...transaction, decide }))
}

/** What the end of a run means to its rollback; `born`: runs created in the same transaction. */
function settled(/** @type {any} */ run, /** @type {readonly any[]} */ born) {
  const goesOn = born.some(({ role, instanceId }) => role === 'undo' && instanceId === run.instanceId)
  if (run.role === 'work' && run.status === 'failed' && goesOn) return ['a failure']
  if (run.role === 'undo' && run.status === 'succeeded') return [goesOn ? 'an undo' : 'the last undo']
  return []
}

const store = new Proxy(inner, {
  get(target, name) {
    if (name === 'transact') return transact
    const value = target[name]
    return typeof value === 'function' ? value.bind(target) : value
  },
})

// ── the engine, a worker, and the effects it leaves ──────────────────────────────────────────────────────────────

const effects = await openDatabase(settings.effectsFile)
effects.exec('PRAGMA busy_timeout = 5000; PRAGMA synchronous = OFF')
// Kept together: an unreferenced database is collected, and closed during its statement.
const noted = {
  effects,
  insert: effects.prepare('INSERT INTO test_effect (run_id, attempt, pid, at) VALUES (?, ?, ?, ?)'),
}
const note = (/** @type {{ runId: string, attempt: number }} */ { runId, attempt }) =>
  void noted.insert.run(runId, attempt, process.pid, Date.now())

const complain = (/** @type {object} */ context, /** @type {string} */ message) =>
  void process.stderr.write(`${message} ${JSON.stringify(context)}\n`)
const logger = { debug() {}, info() {}, warn: complain, error: complain }
const engine = await Engine.open({
  store,
  logger,
  probe: trap,
  sessionTtlMs: settings.sessionTtlMs ?? 700,
  heartbeatMs: 100,
  pollMs: 50,
})
const petrel = petrelOn(engine, { logger })
const all = /** @type {Record<string, any>} */ (handlers(note, sdk, trap))
for (const [type, handler] of Object.entries(all)) petrel.handle(type, handler)

const own = { concurrency: 8, pollMs: 50, name: `process ${process.pid}` }
const everything = Object.keys(all)
await petrel.work({ ...own, types: everything.filter((type) => type !== 'held') })
let heldWorker = null
await finishFromOutside()
say({ ready: true })

/**
 * A client that ignores our sessions: it ends runs of type `outside` by plain SQL and completes deferred work by its
 * id.
 */
async function finishFromOutside() {
  const outside = `SELECT id FROM workflow.workflow_run WHERE type = 'outside' AND status = 'pending'`
  const deferred = `SELECT id FROM workflow.workflow_run WHERE type = 'deferred' AND status = 'leased' AND deferred`
  const update = (/** @type {string} */ id) =>
    `UPDATE workflow.workflow_run SET status = 'succeeded', result = '7' WHERE id = '${id}' AND status = 'pending'`
  const query = inner.kind === 'postgres' ? await plainPostgres() : await plainSqlite()
  const look = async () => {
    for (const { id } of await query(outside)) {
      note({ runId: id, attempt: 1 })
      await query(update(id))
    }
    // Already completed, or the store is unavailable: the next pass finds out.
    for (const { id } of await query(deferred)) await petrel.complete(id, 7).catch(() => {})
    setTimeout(() => void look(), 15)
  }
  void look()
}

/** @returns {Promise<(sql: string) => Promise<any[]>>} */
async function plainPostgres() {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({ connectionString: settings.url, max: 1 })
  pool.on('error', () => {})
  // The connection of this client may be cut like any other; it retries.
  return async (sql) => (await pool.query(sql).catch(() => ({ rows: [] }))).rows
}

/** @returns {Promise<(sql: string) => Promise<any[]>>} */
async function plainSqlite() {
  const database = await openDatabase(settings.url.slice('sqlite:'.length))
  database.exec('PRAGMA busy_timeout = 5000')
  return async (sql) => database.prepare(sql.replaceAll('workflow.', '')).all()
}

// ── waves ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Starts the missing workflows of a wave and waits until all have ended. */
async function run(/** @type {string} */ wave) {
  const entries = Object.entries(/** @type {Record<string, any>} */ (await workloads(sdk, settings.swept)))
  const ends = await Promise.all(
    entries.map(async ([name, load]) => {
      const handle = await patiently(() => begin(`${wave}/${name}`, load))
      return [name, await patiently(() => end(handle))]
    }),
  )
  say({ finished: wave, ends: Object.fromEntries(ends) })
}

async function begin(
  /** @type {string} */ key,
  /** @type {{ step?: any, start?: any, run?: any }} */ { step, start, run: bare },
) {
  if (step !== undefined) return petrel.start(step, { idempotencyKey: key, name: key })
  if (bare !== undefined) {
    const [{ id }] = await engine.enqueue([{ ...bare, idempotencyKey: key }])
    return petrel.run(id)
  }
  const [{ id }] = await engine.start([{ ...start, startKey: key }])
  return petrel.instance(id)
}

async function end(/** @type {any} */ handle) {
  try {
    const result = await handle.result()
    return { state: await handle.status(), result: Array.isArray(result) ? result.map(failedAsNull) : result }
  } catch (error) {
    const { state, message, name } = /** @type {any} */ (error)
    if (name === 'StoreUnavailableError') throw error
    return { state: state ?? 'unknown', message }
  }
}

/** A caller that gets an error because the store is unavailable retries with the same key. */
async function patiently(/** @type {() => Promise<any>} */ request) {
  for (;;) {
    try {
      return await request()
    } catch (error) {
      if (/** @type {any} */ (error).name !== 'StoreUnavailableError') throw error
      complain({}, `asked again: ${/** @type {any} */ (error).message}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** The entry for a failed job of a batch contains a stack, which varies. */
function failedAsNull(/** @type {any} */ item) {
  return item?.state === 'failed' ? null : item
}

/** Leases runs under a session that then ends while it holds them: the sweeper must take them back. */
async function loseHeld() {
  const inbox = { room: () => 0, holding: () => [], deliver() {}, wake() {}, stop() {} }
  const options = { name: 'side', runtime: 'node', queues: null, types: ['held'], concurrency: 10, tenant: null }
  const session = await engine.workers.open(options, inbox)
  const timer = setInterval(() => void session.claim(10), 10)
  await new Promise((resolve) => setTimeout(resolve, 60))
  clearInterval(timer)
  await session.close()
  heldWorker ??= await petrel.work({ ...own, types: ['held'] })
}

if (settings.finish.length > 0) {
  heldWorker = 'held' in all ? await petrel.work({ ...own, types: ['held'] }) : null
  await Promise.all(settings.finish.map(run))
  await heldWorker?.stop()
  heldWorker = null
}
armed = settings.arm
for (let n = 0; settings.next !== null && n < (settings.waves ?? Number.POSITIVE_INFINITY); n++) {
  const wave = `${settings.next}.${n}`
  say({ began: wave })
  const running = run(wave)
  if (settings.swept && heldWorker === null) await loseHeld()
  await running
}
say({ done: true })
await petrel.close()
await engine.close()
await inner.close()
process.exit(0)
