/** Steps and their compensations. */

import { compileSchema } from '../../../kernel/json-schema.ts'
import { closest, type Part } from '../../../kernel/reading/part.ts'
import type { Json } from '../../../net/net.ts'
import { readApproval, readGovernance } from './approval.ts'
import { readRetry } from './policy.ts'
import { partAt, type Reading, readTimeout } from './reading.ts'
import type { Compensation, Step, Task } from './workflow.ts'

const TASK_FIELDS = ['agent', 'action', 'uses', 'queue', 'with', 'timeout', 'retryPolicy']
const SCHEMAS = ['inputSchema', 'outputSchema'] as const
const KINDS = ['approval', 'workflow']
const STEP_FIELDS = ['name', ...TASK_FIELDS, ...SCHEMAS, 'dependsOn', 'onFailure', 'readOnly', ...KINDS, 'governance']
const COMPENSATION_FIELDS = ['step', ...TASK_FIELDS]

/** Names are used unescaped in templates and on the command line (`name.undo`). */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/

export function readStep(part: Part, reading: Reading): Step {
  const known = reading.fields(part, STEP_FIELDS, 'a step')
  const name = part.get('name')
  if (known && !name.given) part.wrong('a step needs a name', 'name: create-account')
  const text = name.text('the name of a step')
  if (text !== null && !NAME.test(text)) {
    name.wrong(
      `'${text.length > 40 ? `${text.slice(0, 37)}…` : text}' cannot be the name of a step`,
      'letters, digits, - and _, at most 128; a letter or digit first',
    )
  }
  const task = readTask(part, reading)
  const approval = readApproval(part.get('approval'), task, reading)
  const step: Step = {
    ...task,
    name: text ?? '',
    dependsOn: readDependencies(part.get('dependsOn'), reading),
    onFailure: part.get('onFailure').choice('onFailure', ['abort', 'skip', 'compensate']),
    readOnly: part.get('readOnly').flag('readOnly') ?? false,
    approval,
    governance: readGovernance(part.get('governance'), reading),
    inputSchema: readSchema(part.get('inputSchema'), 'inputSchema', reading),
    outputSchema: readSchema(part.get('outputSchema'), 'outputSchema', reading),
    workflow: part.get('workflow').text('the name of a workflow'),
    path: part.path,
  }
  checkKind(part, step, reading)
  return step
}

/** A step is work, a gate or a nested workflow; what belongs to another kind has no effect. */
function checkKind(part: Part, step: Step, reading: Reading): void {
  if (step.approval !== null && step.workflow !== null) {
    part.get('workflow').wrong('a step is an approval or a workflow, not both', 'make two steps of it')
  }
  const kind = step.workflow !== null ? 'a nested workflow' : step.approval !== null ? 'a gate' : null
  if (kind === null) return
  for (const field of ['uses', 'queue', 'retryPolicy', 'governance', ...(step.approval === null ? [] : ['with'])]) {
    if (part.has(field)) reading.warn(part.get(field).path, `${field} has no effect: this step is ${kind}`)
  }
  if (step.approval !== null && String(step.approval.options['title'] ?? '').includes('{{')) {
    reading.warn(
      part.get(part.has('approval') ? 'approval' : 'action').path,
      'the title of a gate is not a template',
      null,
    )
  }
  // Not only a warning: the author would rely on a check that is never made.
  const instead = step.workflow === null ? 'approval: { form: … } checks the answer' : 'give it to the steps inside'
  for (const field of SCHEMAS) if (part.has(field)) part.get(field).wrong(`${kind} has no ${field}`, instead)
}

function readDependencies(part: Part, reading: Reading): readonly string[] {
  const names = new Set<string>()
  for (const item of part.items('dependsOn')) {
    if (!item.given) item.wrong('dependsOn must name at least one step', 'name one, or remove it')
    const name = item.text('the name of a step')
    if (name === null) continue
    if (names.has(name)) reading.warn(item.path, `'${name}' is listed twice`, 'keep one')
    names.add(name)
  }
  return [...names]
}

export function readCompensation(part: Part, reading: Reading): Compensation {
  const known = reading.fields(part, COMPENSATION_FIELDS, 'a compensation')
  const step = part.get('step')
  if (known && !step.given) part.wrong('a compensation names the step it undoes', 'step: create-account')
  const task = readTask(part, reading)
  if (known && task.uses === null && !(part.has('agent') && part.has('action'))) {
    part.wrong('a compensation needs an agent and an action', 'agent: and action:, or uses:')
  }
  return { ...task, step: step.text('the name of a step') ?? '', path: part.path }
}

function readTask(part: Part, reading: Reading): Task {
  return {
    agent: part.get('agent').text('agent'),
    action: part.get('action').text('action'),
    uses: part.get('uses').text('uses'),
    queue: part.get('queue').text('queue'),
    with: part.get('with').json(),
    timeoutMs: readTimeout(part.get('timeout')),
    retry: readRetry(part.get('retryPolicy'), reading),
  }
}

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']
/** The validator's message: the place inside the schema, and what is wrong there. */
const INVALID = /^schema is invalid: data(\/[^ ]*)? ([^,]*)/

/** `inputSchema` or `outputSchema`, which the engine validates a step against; null: none, or not a usable one. */
function readSchema(part: Part, what: string, reading: Reading): Json | null {
  if (!part.given) return null
  if (!part.isObject && typeof part.value !== 'boolean') {
    part.wrong(`${what} must be a JSON Schema, which is a mapping`, `${what}: { type: object, required: [id] }`)
    return null
  }
  const schema = part.json()
  const problem = reading.remember(`schema ${JSON.stringify(schema)}`, () => problemOf(schema))
  if (problem === null) return schema
  const at = problem.path.reduce(partAt, part)
  const near = problem.path.at(-1) === 'type' && typeof at.value === 'string' ? closest(at.value, TYPES) : null
  at.wrong(
    `not a JSON Schema: ${problem.message}`,
    near === null ? `${what}: { type: object, required: [id] }` : `did you mean '${near}'?`,
  )
  return null
}

interface Problem {
  readonly path: readonly string[]
  readonly message: string
}

function problemOf(schema: Json): Problem | null {
  try {
    compileSchema(schema)
    return null
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const [, pointer, what] = INVALID.exec(message) ?? []
    if (what === undefined) return { path: [], message }
    const path = (pointer ?? '').split('/').slice(1)
    return { path: path.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~')), message: what }
  }
}
