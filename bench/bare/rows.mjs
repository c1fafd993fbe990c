// @ts-check
/**
 * The rows that Petrel writes for chains, without the logic that decides them: the same tables, columns and events in
 * the same transactions. `begin` is the start of many chains; `advance` is one settle of a batch in which every chain
 * has finished the same step. Keep it in step with src/engine: bench/run.mjs reports when rows or WAL bytes differ by
 * more than a fifth.
 */
import { randomUUID } from 'node:crypto'

/**
 * @typedef {{ id: string, runId: string, seq: number }} Chain
 * @typedef {{ id: string, payload: string, instanceId: string, node: string, fire: number, reportId: string }} NewRun
 * @typedef {{ id: string, result: string, doneSeq: number, reportId: string }} Finished
 * @typedef {{ runId: string | null, instanceId: string, seq: number, type: string, node: string | null, data: string | null }} Event
 * @typedef {{ id: string, fires: number, succeeded: number, seq: number }} Advanced
 * @typedef {{ now: number, instances: Chain[], slot: string, runs: NewRun[], events: Event[] }} Begin
 * @typedef {{ now: number, at: 'first' | 'middle' | 'last', instances: Advanced[], finished: Finished[], runs: NewRun[], events: Event[] }} Advance
 */

export const NAME = 'bench:12345'
export const SESSION = randomUUID()
export const TYPE = 'bench.step'
export const NET = { hash: '0'.repeat(64), name: 'chain', dialect: 'ojs', net: '{}' }

let reports = 0

/** @param {number} count @param {() => string} newId @returns {Chain[]} */
export function newChains(count, newId) {
  return Array.from({ length: count }, () => ({ id: newId(), runId: newId(), seq: 0 }))
}

/** @param {Chain[]} chains @param {number} steps @returns {Begin} */
export function begin(chains, steps) {
  const now = Date.now()
  const literals = Array.from({ length: steps }, (_, n) => [String(n), { args: { n } }])
  /** @type {Event[]} */
  const events = []
  for (const chain of chains) {
    events.push(event(chain, null, 'instance.created', null, null))
    events.push(event(chain, chain.runId, 'created', '0', leasedAt(now)))
  }
  const runs = chains.map((chain) => newRun(chain, 0, 'unasked'))
  return { now, instances: chains, slot: JSON.stringify(Object.fromEntries(literals)), runs, events }
}

/**
 * @param {readonly Chain[]} chains @param {number} step the one that has finished @param {number} steps
 * @param {() => string} newId @returns {Advance}
 */
export function advance(chains, step, steps, newId) {
  const now = Date.now()
  const last = step === steps - 1
  const data = JSON.stringify({ started_at: new Date(now).toISOString() })
  const lease = leasedAt(now)
  /** @type {Finished[]} */
  const finished = []
  /** @type {Event[]} */
  const events = []
  /** @type {NewRun[]} */
  const runs = []
  for (const chain of chains) {
    const reportId = `bench.${(reports++).toString(36)}`
    if (step === 0) events.push(event(chain, null, 'instance.started', null, null))
    const done = event(chain, chain.runId, 'succeeded', String(step), data)
    events.push(done)
    finished.push({ id: chain.runId, result: `{"n":${step}}`, doneSeq: done.seq, reportId })
    if (last) {
      events.push(event(chain, null, 'instance.completed', null, '{"outcome":"success"}'))
    } else {
      chain.runId = newId()
      runs.push(newRun(chain, step + 1, reportId))
      events.push(event(chain, chain.runId, 'created', String(step + 1), lease))
    }
  }
  const fires = last ? steps : step + 2
  const instances = chains.map(({ id, seq }) => ({ id, fires, succeeded: step + 1, seq }))
  return { now, at: last ? 'last' : step === 0 ? 'first' : 'middle', instances, finished, runs, events }
}

/** @param {Chain} chain @param {string | null} runId @param {string} type @param {string | null} node @param {string | null} data */
function event(chain, runId, type, node, data) {
  return { runId, instanceId: chain.id, seq: ++chain.seq, type, node, data }
}

/** @param {Chain} chain @param {number} step @param {string} reportId @returns {NewRun} */
function newRun(chain, step, reportId) {
  return {
    id: chain.runId,
    payload: `{"n":${step}}`,
    instanceId: chain.id,
    node: String(step),
    fire: step + 1,
    reportId,
  }
}

/** @param {number} now */
function leasedAt(now) {
  return JSON.stringify({ leased_at: new Date(now).toISOString(), leased_by: NAME })
}
