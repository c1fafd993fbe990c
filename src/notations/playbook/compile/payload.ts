/**
 * The payload of a step's run: the parts of the workload, the context and the results that its templates name, or all
 * where they name the whole. Missing values are left out, so that `default` and `is defined` still see that they are.
 */
import type { Json } from '../../../net/net.ts'
import { isWorkers, type Mention } from '../check/mentions.ts'
import type { Step, Task } from '../read/playbook.ts'
import { contextEntry } from '../runtime/assign.ts'

/** Names that a worker has by itself, or that are always in the payload. */
export const WORKERS_OWN: readonly string[] = [
  'args',
  'input',
  'iter',
  'loop',
  'loop_index',
  'step',
  'output',
  'outcome',
  '_prev',
  '_task',
  '_attempt',
  'results',
  'keychain',
  'execution_id',
  'job',
]

/** null: all of it. */
type Keys = Set<string> | null

export interface StepGiven {
  /** For a loop: what all items share, as it is when the loop begins. */
  readonly payload: Json
  /** Entries of the context as they are when an item begins, since items before it may have written them. */
  readonly itemContext: Json
}

/** `steps`: those whose results there may be; `loops`: which of them are loops. */
export function payloadOf(
  step: Step,
  mentions: readonly Mention[],
  steps: ReadonlySet<string>,
  loops: ReadonlySet<string>,
): StepGiven {
  let workload: Keys = new Set()
  let ctx: Keys = new Set()
  /** true: for a loop, only its numbers. Its results are as long as all its items together. */
  const results = new Map<string, boolean>()
  if (step.tasks.some(readsContext)) {
    ;[workload, ctx] = [null, null]
    // For a loop its numbers: an author who needs the results names them in a template.
    for (const name of steps) results.set(name, loops.has(name))
  }
  for (const { name } of mentions.filter(isWorkers)) {
    const [root, key] = name
    if (root === 'workload') {
      if (key === undefined) workload = null
      else workload?.add(key)
    } else if (root === 'ctx') {
      // Names missing in the context are looked up in the workload.
      if (key === undefined) [workload, ctx] = [null, null]
      else ctx?.add(key)
    } else if (WORKERS_OWN.includes(root) || root.startsWith('$') || root === step.loop?.iterator) continue
    else if (steps.has(root)) results.set(root, key === 'stats' && (results.get(root) ?? true))
    else {
      ctx?.add(root)
      workload?.add(root)
    }
  }
  const changing = changingIn(step, ctx)
  return {
    payload: {
      execution_id: '{{ execution_id }}',
      workload: part('workload', workload),
      ctx: changing === null ? {} : part('ctx', ctx === null ? null : without(ctx, changing)),
      steps: given([...results].map(([step, stats]) => [step, stats ? numbersOf(step) : step])),
      args: '{{ args }}',
    },
    itemContext: part('ctx', changing),
  }
}

/** The numbers of a loop; none if it has not run. */
function numbersOf(step: string): string {
  return `given({"stats": ${step}.stats}) if ${step}.stats is defined`
}

/** The entries of an item's context that an earlier item of a sequential loop may have written; null: all of them. */
function changingIn({ loop, tasks }: Step, ctx: Keys): Keys {
  if (loop?.maxInFlight !== 1) return new Set()
  const sets = tasks.flatMap((task) => [task.set, ...task.rules.map((rule) => rule.set)])
  const written = new Set(sets.flatMap((set) => Object.keys(set ?? {})).flatMap((target) => contextEntry(target) ?? []))
  if (ctx === null) return written.size === 0 ? written : null
  return new Set([...ctx].filter((key) => written.has(key)))
}

function without(keys: ReadonlySet<string>, others: ReadonlySet<string>): Keys {
  return new Set([...keys].filter((key) => !others.has(key)))
}

/** The item of a loop, added to what all items share. */
export function itemOf(iterator: string, ctx: Json): Json {
  const place = { value: `{{ iter.${iterator} }}`, index: '{{ iter.index }}', total: '{{ loop.length }}' }
  return { item: isEmpty(ctx) ? place : { ...place, ctx } }
}

function isEmpty(ctx: Json): boolean {
  return typeof ctx === 'object' && ctx !== null && Object.keys(ctx).length === 0
}

function part(from: string, keys: Keys): Json {
  if (keys === null) return `{{ ${from} }}`
  return given([...keys].map((key) => [key, `${from}[${JSON.stringify(key)}]`]))
}

function given(entries: readonly (readonly [key: string, source: string])[]): Json {
  if (entries.length === 0) return {}
  const sorted = entries.map(([key, source]) => `${JSON.stringify(key)}: ${source}`).sort()
  return `{{ given({${sorted.join(', ')}}) }}`
}

/** Code that contains `context` may read anything in it; code from a file may do so too. */
function readsContext({ kind, config }: Task): boolean {
  if (kind !== 'python' && kind !== 'javascript') return false
  if (config['script'] !== undefined && config['script'] !== null) return true
  const packed = config['code_b64'] ?? config['code_base64']
  const code = typeof packed === 'string' ? Buffer.from(packed, 'base64').toString('utf8') : config['code']
  return typeof code === 'string' && /\bcontext\b/.test(code)
}
