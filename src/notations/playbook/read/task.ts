/** One task of a pipeline: a tool, its input, and the rules for its outcome. */

import type { Path } from '../../../kernel/reading/mistakes.ts'
import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import type { Json } from '../../../net/net.ts'
import { readPolicy } from '../check/rules.ts'
import type { Task } from './playbook.ts'
import { type Forbidden, type Reading, readSeconds, templatesOf } from './reading.ts'
import { readSets, SET_FIELDS } from './sets.ts'

/** The fields of every task; any other field is the tool's own. */
const COMMON = ['name', 'kind', 'input', 'spec', 'output', 'desc', 'description', 'title', 'assert', ...SET_FIELDS]
const SPEC = ['policy', 'timeout', 'result']
const IDLE = {
  output: 'results are kept as they are',
  output_select: 'results are kept as they are',
  retry: 'rules retry',
  assert: 'nothing is asserted',
} as const
const HINTS = {
  output: 'leave it out',
  output_select: 'leave it out',
  retry: 'spec: { policy: { rules: [{ when: …, then: { do: retry, attempts: 3 } }] } }',
  assert: 'leave it out',
} as const

const FORBIDDEN: Forbidden = {
  type: 'kind: …',
  when: 'a rule of the task before it: then: { do: jump | break }, or an arc of the step',
  policy: 'spec: { policy: … }',
  case: 'spec: { policy: { rules: [ … ] } }',
  eval: 'spec: { policy: { rules: [ … ] } }',
  expr: 'spec: { policy: { rules: [ … ] } }',
  vars: 'set: { ctx.name: value }',
  sink: 'a task of its own after this one',
  save: 'a task of its own after this one',
}

export function readTask(part: Part, label: string, reading: Reading): Task {
  const spec = part.get('spec')
  if (spec.given && !spec.isObject) {
    spec.wrong(`spec must be a mapping, not ${kindOf(spec.value)}`, 'spec: { policy: … }')
  }
  const fields = new Fields(reading)
  fields.take(part, COMMON, false)
  fields.take(spec, SPEC, true)
  const input = readInput(part, spec, fields, reading)
  const policy = readPolicy(spec.get('policy'), reading)
  reading.idle(spec.get('result'), 'results are kept as they are', 'leave it out')
  return {
    label,
    kind: readKind(part),
    config: fields.config,
    places: fields.places,
    input: templatesOf(input, 'input'),
    inputPath: input.path,
    ...policy,
    set: readSets(part, reading),
    timeoutMs: readTimeout(spec.get('timeout'), reading),
    path: part.path,
  }
}

function readKind(part: Part): string {
  const kind = part.get('kind')
  if (!kind.given && !part.has('type')) part.wrong('a task needs a kind', 'kind: python')
  return kind.text('kind') ?? ''
}

/** Some tools have an `args` field of their own: a list belongs to the tool, a mapping is the input. */
function readInput(part: Part, spec: Part, fields: Fields, reading: Reading): Part {
  const own = Array.isArray(part.get('args').value) ? part.get('input') : reading.either(part, 'input', 'args')
  const inner = ['input', 'args'].find((name) => spec.get(name).given)
  if (inner === undefined) return own
  fields.inside(spec.get(inner))
  if (own.given) spec.get(inner).wrong('the task has two inputs', 'keep the one outside spec')
  return own.given ? own : spec.get(inner)
}

/** Seconds; or the time limits to connect and to read, whose sum is the limit. */
function readTimeout(part: Part, reading: Reading): number | null {
  if (!part.isObject) return readSeconds(part, 'timeout')
  reading.fields(part, ['connect', 'read'], 'timeout')
  const times = ['connect', 'read'].map((name) => readSeconds(part.get(name), name) ?? 0)
  const sum = times.reduce((a, b) => a + b, 0)
  return sum > 0 ? sum : null
}

/** The tool's own fields, beside the common ones or, against the rules, inside `spec`. */
class Fields {
  readonly config: Record<string, Json> = {}
  readonly places: Record<string, Path> = {}
  readonly #reading: Reading

  constructor(reading: Reading) {
    this.#reading = reading
  }

  take(part: Part, common: readonly string[], inSpec: boolean): void {
    for (const [key, value] of part.isObject ? part.entries('') : []) {
      if (common.includes(key) && !(key in IDLE)) continue
      if (key in IDLE) {
        this.#reading.idle(value, IDLE[key as keyof typeof IDLE], HINTS[key as keyof typeof HINTS])
      } else if (Object.hasOwn(FORBIDDEN, key)) {
        const hint = FORBIDDEN[key] as string
        this.#reading.reader.note({ path: value.path, onKey: true, message: `a task has no field '${key}'`, hint })
      } else if (key === 'input' || (key === 'args' && !Array.isArray(value.value))) {
      } else if (Object.hasOwn(this.config, key)) {
        value.wrong(`the task has two fields '${key}'`, 'keep the one outside spec')
      } else {
        if (inSpec) this.inside(value)
        this.config[key] = value.json()
        this.places[key] = value.path
      }
    }
  }

  inside(part: Part): void {
    const key = part.path.at(-1)
    this.#reading.lenient(part.path, `'${key}' is a field of the task, not of its spec`, `write it beside kind`, true)
  }
}
