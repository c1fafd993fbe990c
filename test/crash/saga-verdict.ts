/** The result of every saga: in the audit views, and in the tables of the services. */
import { join } from 'node:path'
import { openDatabase } from '../../src/store/sqlite/driver.ts'
import type { TestDatabase } from './database.ts'

export interface Asked {
  readonly id: string
  /** bad: its second step fails, so its first is undone. */
  readonly kind: 'good' | 'bad'
}

interface Step {
  readonly id: string
  readonly workflow_id: string
  readonly step_index: number
  readonly name: string
  readonly state: string
  readonly command_json: string
  readonly response_json: unknown
  readonly error: string | null
  readonly command_subject: string
  readonly command_published_at: unknown
  readonly compensation_json: string
  readonly started_at: unknown
  readonly completed_at: unknown
}

const EXPECTED = {
  good: {
    state: 'completed',
    steps: [
      '0 save_party completed refdata.v1.parties.save',
      '1 save_account completed iam.v1.accounts.save',
      '2 link_account_party completed iam.v1.account-parties.save',
    ],
  },
  bad: {
    state: 'compensated',
    steps: [
      '-1 save_party completed refdata.v1.parties.delete',
      '0 save_party completed refdata.v1.parties.save',
      '1 save_account failed iam.v1.accounts.save',
    ],
  },
}

/** One sentence per violation; empty is correct. */
export async function wrongSagas(database: TestDatabase, asked: readonly Asked[], folder: string): Promise<string[]> {
  const view = (name: string) => (database.kind === 'postgres' ? `saga.${name}` : `saga_${name}`)
  const sagas = await database.rows<{ id: string; state: string; completed_at: unknown }>(
    `SELECT id, state, completed_at FROM ${view('workflow_instance')}`,
  )
  const steps = await database.rows<Step>(`SELECT * FROM ${view('workflow_step')} ORDER BY workflow_id, step_index`)
  const codes = await database.rows<{ code: string }>('SELECT DISTINCT code FROM workflow.workflow_refused')
  const wrong = codes.filter(({ code }) => code !== 'duplicate').map(({ code }) => `a message was refused: ${code}`)
  if (sagas.length !== asked.length) wrong.push(`${sagas.length} sagas, not ${asked.length}`)
  const stateOf = new Map(sagas.map(({ id, state, completed_at }) => [id, completed_at === null ? 'open' : state]))
  const stepsOf = new Map<string, Step[]>()
  for (const step of steps) stepsOf.set(step.workflow_id, [...(stepsOf.get(step.workflow_id) ?? []), step])
  for (const { id, kind } of asked) {
    const found = stepsOf.get(id) ?? []
    const shown = found.map((step) => `${step.step_index} ${step.name} ${step.state} ${step.command_subject}`)
    const expected = EXPECTED[kind]
    if (stateOf.get(id) !== expected.state) wrong.push(`saga ${id} is ${stateOf.get(id)}, not ${expected.state}`)
    if (shown.join('\n') !== expected.steps.join('\n')) wrong.push(`saga ${id} has the steps ${shown.join(', ')}`)
    for (const step of found) wrong.push(...gaps(step, kind).map((gap) => `step ${step.id} of ${id}: ${gap}`))
  }
  return [...wrong, ...(await wrongEffects(asked, stepsOf, folder))]
}

/** Columns that the view leaves out. */
function gaps(step: Step, kind: Asked['kind']): string[] {
  const must: { readonly [gap: string]: boolean } = {
    'no command': step.command_json === '',
    'never published': step.command_published_at === null,
    'never started': step.started_at === null,
    'never completed': step.completed_at === null,
    'no answer': (step.state === 'failed' ? step.error : step.response_json) === null && step.step_index >= 0,
    'no compensation': kind === 'bad' && step.name === 'save_party' && step.compensation_json === '',
  }
  return Object.keys(must).filter((gap) => must[gap])
}

/** Each effect exists once; and the counters show that nothing was done twice and reverted. */
async function wrongEffects(
  asked: readonly Asked[],
  stepsOf: ReadonlyMap<string, readonly Step[]>,
  folder: string,
): Promise<string[]> {
  const good = asked.filter(({ kind }) => kind === 'good')
  const stepIds = (name: string) =>
    good.flatMap(({ id }) => (stepsOf.get(id) ?? []).filter((step) => step.name === name)).map(({ id }) => id)
  const [refdata, iam] = [join(folder, 'refdata.db'), join(folder, 'iam.db')]
  const standing = async (file: string, table: string) =>
    (await rows<{ step_id: string }>(file, `SELECT step_id FROM ${table}`)).map((row) => row.step_id)
  const ever = async (file: string, table: string) =>
    Number((await rows<{ seq: number }>(file, `SELECT seq FROM sqlite_sequence WHERE name = '${table}'`))[0]?.seq ?? 0)
  const wrong: string[] = []
  for (const [file, table, step] of [
    [refdata, 'party', 'save_party'],
    [iam, 'account', 'save_account'],
    [iam, 'account_party', 'link_account_party'],
  ] as const) {
    const [has, should] = [await standing(file, table), stepIds(step)].map((ids) => ids.sort().join('\n'))
    if (has !== should) wrong.push(`${table} has the effects of\n${has}\nnot of\n${should}`)
  }
  const parties = await ever(refdata, 'party')
  if (parties !== asked.length) wrong.push(`${parties} parties were ever saved for ${asked.length} sagas`)
  const accounts = await ever(iam, 'account')
  if (accounts !== good.length) wrong.push(`${accounts} accounts were ever saved for ${good.length} sagas`)
  return wrong
}

async function rows<Row>(file: string, sql: string): Promise<Row[]> {
  const database = await openDatabase(file)
  try {
    database.exec('PRAGMA busy_timeout = 5000')
    return database.prepare(sql).all() as unknown as Row[]
  } finally {
    database.close()
  }
}
