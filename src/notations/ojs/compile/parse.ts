/** A chain, group or batch as a file, in the terms of OJS: `type`, `steps`, `jobs`, `callbacks`, job options. */
import { PetrelError } from '../../../kernel/errors.ts'
import type { Path } from '../../../kernel/reading/mistakes.ts'
import type { Part } from '../../../kernel/reading/part.ts'
import type { Json } from '../../../net/net.ts'
import type { Definition } from '../../source/definition.ts'
import { Reader } from '../../source/reader.ts'
import type { Source } from '../../source/source.ts'
import { buildWorkflow } from './builder.ts'
import { readRetry } from './retry.ts'
import { type JobOptions, type JobTree, KINDS } from './tree.ts'
import { readTree } from './tree-reader.ts'

const OPTION_KEYS = ['queue', 'priority', 'timeout_ms', 'timeout', 'grace_period', 'delay', 'retry', 'tags', 'meta']
const JOB_KEYS = ['type', 'args', 'options', ...OPTION_KEYS]

export function parseWorkflow(source: Source): Definition {
  const reader = new Reader(source)
  const { root } = reader
  const tree = readTree(root, { job: readJob, knownKeysOnly: true, ids: false })
  if (reader.clean) {
    try {
      const { start } = buildWorkflow(tree)
      return { dialect: 'ojs', name: start.net.name, ...(root.get('name').given ? {} : { named: false }), start }
    } catch (error) {
      if (!(error instanceof PetrelError)) throw error
      const { path = '', problem = error.message } = error.details
      reader.note({ path: filePath(path), message: problem, hint: null })
    }
  }
  reader.throwIfWrong()
  throw new Error('a workflow without mistakes was not built')
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

/** Options are under `options`, as on the wire, or beside the type. */
function readOptions(job: Part, inside: Part): JobOptions {
  const get = (key: string): Part => (inside.has(key) ? inside.get(key) : job.get(key))
  const queue = get('queue').text('queue')
  const priority = get('priority').number('priority', -100)
  const timeout = get('timeout_ms').number('timeout_ms', 1) ?? get('timeout').duration('timeout')
  const grace = timeout === null ? null : get('grace_period').duration('grace_period')
  const delay = get('delay').duration('delay')
  const retry = get('retry').given ? readRetry(get('retry'), 'file') : null
  const tags = get('tags').json()
  const meta = get('meta').json() as { readonly [key: string]: Json } | null
  return {
    ...(queue === null ? {} : { queue }),
    // OJS: greater is more urgent, 0 is the default. Stored: smaller is earlier, 100 is the default.
    ...(priority === null ? {} : { priority: 100 - priority }),
    ...(timeout === null ? {} : { timeoutMs: timeout + (grace ?? 0) }),
    ...(grace === null || grace === 0 ? {} : { graceMs: grace }),
    ...(delay === null ? {} : { delayMs: delay }),
    ...(retry === null ? {} : { retry }),
    ...(meta === null && tags === null ? {} : { meta: { ...meta, ...(tags === null ? {} : { tags }) } }),
  }
}

/** The place in the file of `chain.steps[2].jobs[0]`, as the builder names places. */
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
