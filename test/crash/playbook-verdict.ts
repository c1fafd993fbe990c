/**
 * What happened to every execution, from its own event log, its context and the ledger, compared with the expectation.
 */
import type { TestDatabase } from './database.ts'
import type { Clients } from './playbook-clients.ts'
import type { Ledger } from './playbook-ledger.ts'
import { CHILD_EFFECTS, EXPECTED } from './playbook-workloads.ts'

type Counts = { readonly [name: string]: number }
type Recorded = { readonly event_type: string; readonly step: string | null; readonly step_run_id: string | null }

/** One sentence per violation; empty is correct. */
export async function wrongExecutions(clients: Clients, ledger: Ledger): Promise<string[]> {
  const wrong: string[] = []
  for (const { id, name } of clients.started) {
    const { execution, context } = await clients.get(`/v1/instances/${id}`)
    const { events } = await clients.get(`/v1/instances/${id}/execution-events?limit=1000`)
    const expected = EXPECTED[name]!
    const found = { status: execution.status, ...ends(events), context, effects: effectsOf(ledger, id) }
    const wanted = {
      status: expected.status,
      done: expected.done,
      failed: expected.failed ?? {},
      context: expected.context ?? {},
      effects: nonZero({ ...expected.done, ...expected.effects }),
    }
    for (const part of ['status', 'done', 'failed', 'context', 'effects'] as const) {
      const [has, should] = [found[part], wanted[part]].map(sorted)
      if (has !== should) wrong.push(`${name} ${id}: ${part} is ${has}, not ${should}`)
    }
    if (found.status !== wanted.status) wrong.push(`${name} ${id}: its failures: ${JSON.stringify(execution.failures)}`)
    wrong.push(...twice(events).map((what) => `${name} ${id}: ${what}`))
  }
  return wrong
}

/** Tokens by step. */
function ends(events: readonly Recorded[]): { readonly done: Counts; readonly failed: Counts } {
  const of = (type: string) => counted(events.filter((event) => event.event_type === type).map(({ step }) => step!))
  return { done: of('step.done'), failed: of('step.failed') }
}

/** Effects that happened another number of times than once. */
function twice(events: readonly Recorded[]): string[] {
  const types = events.map(({ event_type }) => event_type)
  const wrong: string[] = []
  for (const once of ['playbook.started', 'workflow.finished', 'playbook.finished']) {
    const times = types.filter((type) => type === once).length
    if (times !== 1) wrong.push(`${once} is recorded ${times} times`)
  }
  if (types.at(-1) !== 'playbook.finished') wrong.push(`${types.at(-1)} is recorded after its end`)
  for (const sort of [['step.scheduled'], ['step.done', 'step.failed']]) {
    const recorded = events.filter(({ event_type }) => sort.includes(event_type)).map(({ step_run_id }) => step_run_id!)
    for (const [token, times] of Object.entries(counted(recorded))) {
      if (times !== 1) wrong.push(`${sort.join(' or ')} of ${token} is recorded ${times} times`)
    }
  }
  return wrong
}

interface Row {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly parent_id: string | null
}

/**
 * By plain SQL, for all executions including nested ones: each has ended once, as its row shows, and subplaybooks were
 * created once.
 */
export async function wrongRows(database: TestDatabase, { started }: Clients, ledger: Ledger): Promise<string[]> {
  const wrong: string[] = []
  const rows = await database.rows<Row>('SELECT id, name, state, parent_id FROM workflow.workflow_instance')
  const recorded = await database.rows<{ id: string; type: string }>(`
    SELECT instance_id AS id, event_type AS type FROM workflow.workflow_event
    WHERE event_type IN ('instance.completed', 'instance.failed', 'instance.cancelled', 'instance.compensated')`)
  for (const { id, name, state } of rows) {
    const types = recorded.filter((event) => event.id === id).map(({ type }) => type)
    if (types.join() !== `instance.${state}`) wrong.push(`${name} ${id} is ${state}, with events ${types.join()}`)
  }
  for (const { id, name } of started) {
    const has = sorted(counted(rows.filter((row) => row.parent_id === id).map((row) => row.name)))
    const should = sorted(EXPECTED[name]!.children ?? {})
    if (has !== should) wrong.push(`${name} ${id} started ${has}, not ${should}`)
  }
  for (const { id, name, state } of rows.filter((row) => row.parent_id !== null)) {
    const has = sorted(effectsOf(ledger, id))
    const should = sorted(CHILD_EFFECTS[`${name} ${state}`] ?? {})
    if (has !== should) wrong.push(`${name} ${id} (${state}): effects are ${has}, not ${should}`)
  }
  const begun = new Set([...ledger.effects.values()].map(({ execution }) => execution))
  const unknown = [...begun].filter((id) => !rows.some((row) => row.id === id))
  wrong.push(...unknown.map((id) => `there are effects of ${id}, which does not exist`))
  return wrong
}

function effectsOf(ledger: Ledger, id: string): Counts {
  return counted([...ledger.effects.values()].filter(({ execution }) => execution === id).map(({ task }) => task))
}

function counted(names: readonly string[]): Counts {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

function nonZero(counts: Counts): Counts {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0))
}

function sorted(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).map(([name, part]) => `${name}: ${sorted(part)}`)
  return `{ ${entries.sort().join(', ')} }`
}
