// @ts-check
/**
 * Loaded into a real `petrel` with `node --import`: kills it with SIGKILL at the k-th decision of a kind.
 * PETREL_TRAP: { dist, engine, what, point, at }; without `what` it is not killed; `engine` overrides its options.
 *
 *   before   the decision was made, nothing is written
 *   during   the transaction is on its way to the database
 *   after    it is committed; neither the client nor a waiting worker has been notified
 *
 * For commands that are taken and confirmed, `after` is when the store has done it, `before` when it has not.
 * holdMs: how long it holds the commands it takes, instead of the transport's value. tally: a file that gets a line
 * with its process id for every step of a saga that it publishes or records.
 */
import { appendFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

const {
  dist,
  engine = {},
  what = 'nothing',
  point,
  at,
  holdMs = null,
  tally = null,
} = JSON.parse(/** @type {string} */ (process.env['PETREL_TRAP']))
const { Engine } = await import(pathToFileURL(`${dist}/insides.js`).href)

const records = (/** @type {any} */ delta, /** @type {string} */ type) =>
  (delta.events ?? []).some((/** @type {any} */ event) => event.type === type)

/** Runs of sagas of this role that become so. */
const sagaRuns = (/** @type {any} */ { runs }, /** @type {string} */ role, /** @type {string} */ status) =>
  (runs?.update ?? []).filter(
    (/** @type {any} */ run) => run.type.startsWith('saga.') && run.role === role && run.status === status,
  )

const commands = (/** @type {any} */ delta, /** @type {string} */ role) => {
  const put = new Set((delta.commands?.put ?? []).map((/** @type {any} */ command) => command.runId))
  return sagaRuns(delta, role, 'leased').some((/** @type {any} */ run) => put.has(run.id))
}

/** What a transaction can decide. */
const ABOUT = /** @type {Record<string, (delta: any) => boolean>} */ ({
  'the finals': ({ runs }) => (runs?.insert ?? []).some((/** @type {any} */ run) => run.role === 'final'),
  'an end': (delta) => records(delta, 'instance.completed') || records(delta, 'instance.failed'),
  'a rest': (delta) => records(delta, 'returned'),
  'a patch': (delta) => records(delta, 'instance.patched'),
  'a saga': ({ instances }) => (instances?.insert ?? []).some((/** @type {any} */ row) => row.dialect === 'saga'),
  'a command': (delta) => commands(delta, 'work'),
  'a completion': (delta) => sagaRuns(delta, 'work', 'succeeded').length > 0,
  'a refusal': (delta) => sagaRuns(delta, 'work', 'failed').length > 0,
  'the command of an undo': (delta) => commands(delta, 'undo'),
  'the completion of an undo': (delta) => sagaRuns(delta, 'undo', 'succeeded').length > 0,
  'the end of a saga': (delta) => records(delta, 'instance.completed'),
  'the end of a rollback': (delta) => records(delta, 'instance.compensated'),
  nothing: () => false,
})

let passed = 0
const note = (/** @type {string} */ done, /** @type {number} */ times) => {
  if (tally !== null) appendFileSync(tally, `${process.pid} ${done}\n`.repeat(times))
}
const die = () => process.kill(process.pid, 'SIGKILL')

/** @param {any} inner the store */
async function transact(inner, /** @type {any} */ transaction) {
  let dies = false
  let completions = 0
  const decide = (/** @type {any} */ loaded) => {
    const decision = transaction.decide(loaded)
    completions = sagaRuns(decision.delta ?? {}, 'work', 'succeeded').length
    if (!dies && ABOUT[what]?.(decision.delta ?? {})) dies = ++passed === at
    if (dies && point === 'before') die()
    if (dies && point === 'during') setImmediate(die)
    return decision
  }
  const outcome = await inner.transact({ ...transaction, decide })
  if (dies) die()
  note('recorded', completions)
  return outcome
}

/** Role by run, of the commands taken here. @type {Map<string, string>} */
const roles = new Map()

/** Commands, taken or confirmed. @param {string} verb @param {readonly string[]} ids @param {() => unknown} act */
async function carry(verb, ids, act) {
  const wanted = ids.some((id) => what === (roles.get(id) === 'undo' ? `an undo ${verb}` : verb))
  const dies = wanted && ++passed === at
  if (dies && point === 'before') die()
  await act()
  if (dies) die()
  note(verb, ids.length)
}

/** @param {any} inner the store's */
const carried = (inner) => ({
  ...inner,
  async take(/** @type {any} */ params) {
    const rows = await inner.take({ ...params, holdMs: holdMs ?? params.holdMs })
    for (const { runId, role } of rows) roles.set(runId, role)
    await carry(
      'taken',
      rows.map((/** @type {any} */ row) => row.runId),
      () => {},
    )
    return rows
  },
  confirm: (/** @type {any} */ params) => carry('published', params.runIds, () => inner.confirm(params)),
})

const open = Engine.open.bind(Engine)
Engine.open = (/** @type {any} */ options) => {
  const store = new Proxy(options.store, {
    get(target, name) {
      if (name === 'transact') return (/** @type {any} */ transaction) => transact(target, transaction)
      if (name === 'commands') return carried(target.commands)
      const value = target[name]
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return open({ ...options, ...engine, store })
}
