/** A chain, group or batch as a file, in OJS's own words: `type`, `steps`, `jobs`, `callbacks`, job options. */
import { PetrelError } from '../../engine/errors.ts'
import type { Json, Retry } from '../../net/net.ts'
import type { Definition } from '../definition.ts'
import type { Path } from '../mistakes.ts'
import { type Part, Reader } from '../reader.ts'
import type { Source } from '../source.ts'
import { buildWorkflow } from './builder.ts'
import { DEFAULT_RETRY, type JobOptions, type JobTree, type Tree } from './tree.ts'

const KINDS = ['chain', 'group', 'batch'] as const
const OPTION_KEYS = ['queue', 'priority', 'timeout_ms', 'timeout', 'delay', 'retry', 'tags', 'meta']
const JOB_KEYS = ['type', 'args', 'options', ...OPTION_KEYS]
const CALLBACKS = ['on_complete', 'on_success', 'on_failure'] as const

export function parseWorkflow(source: Source): Definition {
  const reader = new Reader(source)
  const { root } = reader
  const tree = readTree(root)
  if (reader.clean) {
    try {
      const { start } = buildWorkflow(tree)
      return { dialect: 'ojs', name: start.net.name, start }
    } catch (error) {
      if (!(error instanceof PetrelError)) throw error
      const path = typeof error.details['path'] === 'string' ? error.details['path'] : ''
      reader.note({ path: filePath(path), message: error.message.replace(`${path}: `, ''), hint: null })
    }
  }
  reader.throwIfWrong()
  throw new Error('a workflow without mistakes was not built')
}

function readTree(part: Part): Tree {
  const kind = part.get('type').value
  if (kind === 'chain') {
    part.hasOnly(['type', 'id', 'name', 'steps'], 'a chain')
    return { kind, ...nameOf(part), steps: readTrees(part, 'steps', 'a chain needs steps') }
  }
  if (kind === 'group') {
    part.hasOnly(['type', 'id', 'name', 'jobs'], 'a group')
    return { kind, ...nameOf(part), jobs: readTrees(part, 'jobs', 'a group needs jobs') }
  }
  if (kind === 'batch') {
    part.hasOnly(['type', 'id', 'name', 'jobs', 'callbacks'], 'a batch')
    const callbacks = part.get('callbacks')
    if (callbacks.given) callbacks.hasOnly(CALLBACKS, 'callbacks')
    else
      part.wrong('a batch needs callbacks', 'callbacks: { on_complete: { type: some.type } }; without any, use a group')
    const [onComplete, onSuccess, onFailure] = CALLBACKS.map((name) =>
      callbacks.has(name) ? readTree(callbacks.get(name)) : null,
    )
    const jobs = readTrees(part, 'jobs', 'a batch needs jobs')
    return {
      kind,
      ...nameOf(part),
      jobs,
      onComplete: onComplete ?? null,
      onSuccess: onSuccess ?? null,
      onFailure: onFailure ?? null,
    }
  }
  return readJob(part)
}

function readTrees(part: Part, key: 'steps' | 'jobs', problem: string): readonly Tree[] {
  const list = part.get(key)
  if (!list.given) part.wrong(problem, `${key}: [ { type: some.type, args: [] } ]`)
  return list.items(key).map(readTree)
}

function nameOf(part: Part): { readonly name?: string } {
  const name = part.get('name').text('name')
  return name === null ? {} : { name }
}

function readJob(part: Part): JobTree {
  const known = part.hasOnly(JOB_KEYS, 'a job')
  if (known && !part.get('type').given)
    part.wrong('a job needs a type', `the type of its handler, or one of ${KINDS.join(', ')}`)
  const type = part.get('type').text('type') ?? '?'
  const options = part.get('options')
  if (options.given) options.hasOnly(OPTION_KEYS, 'options')
  return {
    kind: 'job',
    type,
    args: part.has('args') ? part.get('args').json() : [],
    options: readOptions(part, options),
  }
}

/** Options stand under `options`, as on the wire, or beside the type. */
function readOptions(job: Part, inside: Part): JobOptions {
  const get = (key: string): Part => (inside.has(key) ? inside.get(key) : job.get(key))
  const queue = get('queue').text('queue')
  const priority = get('priority').number('priority', -100)
  const timeout = get('timeout_ms').number('timeout_ms', 1) ?? get('timeout').duration('timeout')
  const delay = get('delay').duration('delay')
  const retry = get('retry').given ? readRetry(get('retry')) : null
  const tags = get('tags').json()
  const meta = get('meta').json() as { readonly [key: string]: Json } | null
  return {
    ...(queue === null ? {} : { queue }),
    // OJS: greater is more urgent, 0 is the default. Stored: smaller is earlier, 100 is the default.
    ...(priority === null ? {} : { priority: 100 - priority }),
    ...(timeout === null ? {} : { timeoutMs: timeout }),
    ...(delay === null ? {} : { delayMs: delay }),
    ...(retry === null ? {} : { retry }),
    ...(meta === null && tags === null ? {} : { meta: { ...meta, ...(tags === null ? {} : { tags }) } }),
  }
}

const RETRY_KEYS = [
  'max_attempts',
  'initial_interval',
  'backoff_coefficient',
  'max_interval',
  'jitter',
  'backoff_strategy',
  'non_retryable_errors',
  'on_exhaustion',
  'backoff',
  'base_delay_ms',
]
const STRATEGIES = {
  none: 'constant',
  constant: 'constant',
  linear: 'linear',
  exponential: 'exponential',
  polynomial: 'polynomial',
} as const

function readRetry(part: Part): Partial<Retry> {
  const short = typeof part.value === 'number'
  if (!short && !part.hasOnly(RETRY_KEYS, 'a retry policy')) return {}
  const attempts = (short ? part : part.get('max_attempts')).number('max_attempts (executions in all)', 0)
  const initial =
    part.get('initial_interval').duration('initial_interval') ?? part.get('base_delay_ms').number('base_delay_ms', 0)
  const max = part.get('max_interval').duration('max_interval')
  const coefficient = part.get('backoff_coefficient').number('backoff_coefficient', 1)
  const names = Object.keys(STRATEGIES) as (keyof typeof STRATEGIES)[]
  const strategy =
    part.get('backoff_strategy').choice('backoff_strategy', names) ?? part.get('backoff').choice('backoff', names)
  const jitter = part.get('jitter').flag('jitter')
  const exhausted = part.get('on_exhaustion').choice('on_exhaustion', ['discard', 'dead_letter'])
  const never = part.get('non_retryable_errors')
  return {
    ...(attempts === null ? {} : { maxAttempts: Math.max(1, attempts) }),
    ...(initial === null ? {} : { initialMs: initial }),
    ...(max === null ? (initial !== null && initial > DEFAULT_RETRY.maxMs ? { maxMs: initial } : {}) : { maxMs: max }),
    ...(coefficient === null ? {} : { coefficient }),
    ...(strategy === null ? {} : { backoff: STRATEGIES[strategy] }),
    ...(jitter === null ? {} : { jitter: jitter ? 0.5 : 0 }),
    ...(exhausted === null ? {} : { deadLetter: exhausted === 'dead_letter' }),
    ...(never.given
      ? { nonRetryable: never.items('non_retryable_errors').flatMap((item) => item.text('an error type') ?? []) }
      : {}),
  }
}

/** `chain.steps[2].jobs[0]`, as the builder names places, inside the file. */
function filePath(path: string): Path {
  return path
    .split(/[.[\]]+/)
    .slice(1)
    .filter((part) => part !== '')
    .flatMap((part): Path => {
      if (/^\d+$/.test(part)) return [Number(part)]
      return part.startsWith('on_') ? ['callbacks', part] : [part]
    })
}
