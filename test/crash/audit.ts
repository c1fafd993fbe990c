/** What must hold for a database after all crashes, checked by plain SQL, independently of the engine. */

import type { TestDatabase } from './database.ts'

interface Run {
  readonly id: string
  readonly type: string
  readonly status: string
  readonly role: string
  readonly attempt: number
  readonly epoch: number
  readonly instance_id: string | null
}

interface Recorded {
  readonly id: string
  /** Events that end a lease or a wait: each increases the epoch. */
  readonly turns: number
  readonly ends: number
}

export interface Audit {
  /** One sentence per violation; empty is correct. */
  readonly violations: readonly string[]
  readonly counts: {
    readonly instances: number
    readonly runs: number
    readonly effects: number
    /** Executions that were lost after their start was recorded. */
    readonly lost: number
    /** Leases that were returned before a start. */
    readonly returned: number
    readonly finals: number
    readonly undos: number
  }
}

/** The final steps and undos that a workflow must have created, by its name in a wave. */
export type Roles = Readonly<Record<string, { readonly final: readonly string[]; readonly undo: readonly string[] }>>

/** `effects`: handlers recorded their effects, and no other client ended runs that had not begun. */
export async function audit(
  database: TestDatabase,
  about: { readonly effects: boolean; readonly roles?: Roles },
): Promise<Audit> {
  const violations: string[] = []
  const found = await database.onStore((store) => store.read.doctor())
  for (const { check, subject, finding } of found) violations.push(`doctor ${check}: ${subject} ${finding}`)

  const instances = await database.rows<{ id: string; name: string; state: string; start_key: string | null }>(
    'SELECT id, name, state, start_key FROM workflow.workflow_instance',
  )
  const runs = await database.rows<Run>(
    'SELECT id, type, status, role, attempt, epoch, instance_id FROM workflow.workflow_run',
  )
  const recorded = await database.rows<Recorded>(`
    SELECT workflow_id AS id,
      sum(CASE WHEN event_type IN ('succeeded', 'failed', 'cancelled', 'retried', 'returned') THEN 1 ELSE 0 END) AS turns,
      sum(CASE WHEN event_type IN ('succeeded', 'failed', 'cancelled') THEN 1 ELSE 0 END) AS ends
    FROM workflow.workflow_event WHERE workflow_id IS NOT NULL GROUP BY workflow_id`)
  const [events] = await database.rows<{ lost: number; returned: number }>(`
    SELECT sum(CASE WHEN CAST(data AS text) LIKE '%worker_lost%' THEN 1 ELSE 0 END) AS lost,
      sum(CASE WHEN event_type = 'returned' THEN 1 ELSE 0 END) AS returned FROM workflow.workflow_event`)
  const effects = await database.effects()

  for (const { id, name, state } of instances) {
    if (!/^(completed|failed|cancelled|compensated)$/.test(state))
      violations.push(`instance ${id} (${name}) is ${state}`)
  }
  outcomesOnce(runs, recorded, violations)
  if (about.effects) attemptsStarted(runs, effects, violations)
  await rolesOnce(database, instances, about.roles ?? {}, violations)

  const role = (wanted: string): number => runs.filter((run) => run.role === wanted).length
  return {
    violations,
    counts: {
      instances: instances.length,
      runs: runs.length,
      effects: effects.length,
      lost: Number(events?.lost ?? 0),
      returned: Number(events?.returned ?? 0),
      finals: role('final'),
      undos: role('undo'),
    },
  }
}

/** One end per run, and one event per epoch: no outcome was recorded twice. */
function outcomesOnce(runs: readonly Run[], recorded: readonly Recorded[], violations: string[]): void {
  const byRun = new Map(recorded.map((t) => [t.id, t]))
  for (const run of runs) {
    const { turns = 0, ends = 0 } = byRun.get(run.id) ?? {}
    if (run.status === 'pending' || run.status === 'leased')
      violations.push(`run ${run.id} (${run.type}) is ${run.status}`)
    if (Number(ends) !== 1) violations.push(`run ${run.id} (${run.type}) ended ${ends} times`)
    if (Number(turns) !== run.epoch)
      violations.push(`run ${run.id} (${run.type}) is at epoch ${run.epoch} after ${turns} turns`)
  }
}

/** Work ran at least once, and every counted attempt had begun. */
function attemptsStarted(
  runs: readonly Run[],
  effects: readonly { readonly runId: string }[],
  violations: string[],
): void {
  const begun = new Map<string, number>()
  for (const { runId } of effects) begun.set(runId, (begun.get(runId) ?? 0) + 1)
  for (const run of runs) {
    const times = begun.get(run.id) ?? 0
    const counted = run.attempt + (run.status === 'succeeded' ? 1 : 0)
    if (counted > times) {
      violations.push(
        `run ${run.id} (${run.type}) counts ${counted} executions (${run.status}) but began ${times} times`,
      )
    }
    if (run.status === 'succeeded' && times === 0)
      violations.push(`run ${run.id} (${run.type}) succeeded without effect`)
  }
}

/** The right callbacks and undos were created, once each, undos in reverse order of their work. */
async function rolesOnce(
  database: TestDatabase,
  instances: readonly { readonly id: string; readonly start_key: string | null }[],
  roles: Roles,
  violations: string[],
): Promise<void> {
  const special = await database.rows<{ instance_id: string; node: string; role: string }>(`
    SELECT r.instance_id, r.node, r.role FROM workflow.workflow_run r
    JOIN workflow.workflow_event e ON e.workflow_id = r.id AND e.event_type = 'created'
    WHERE r.role <> 'work' ORDER BY r.instance_id, e.seq`)
  for (const { id, start_key: key } of instances) {
    const expected = roles[key?.split('/')[1] ?? '']
    if (expected === undefined) continue
    for (const role of ['final', 'undo'] as const) {
      const nodes = special.filter((s) => s.instance_id === id && s.role === role).map((s) => s.node)
      if (role === 'final') nodes.sort()
      if (nodes.join() !== expected[role].join())
        violations.push(`instance ${id} (${key}) created ${role}s ${nodes.join()}`)
    }
  }
}
