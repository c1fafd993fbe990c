/** The work of a node of a net file. */

import { MAX_FAIR_KEY_LENGTH } from '../../kernel/limits.ts'
import { closest, type Part } from '../../kernel/reading/part.ts'
import type { Item } from '../../model/start.ts'
import type { ChildWork, GateWork, Json, RunWork, Work } from '../../net/net.ts'
import type { Build } from './build.ts'
import { readRetry } from './policy.ts'

export const WORK_KINDS = ['run', 'gate', 'pass', 'child', 'each'] as const
const ITEM_RUN_KEYS = ['args', 'queue', 'priority', 'delay', 'limitKey', 'fairKey']
export const RUN_KEYS = [...ITEM_RUN_KEYS, 'program']

export function readWork(key: string, part: Part, build: Build): Work {
  const kinds = WORK_KINDS.filter((kind) => part.has(kind))
  const [kind] = kinds
  if (kind === undefined) {
    if (part.isObject) part.wrong(`node '${key}' must name its work`, `one of: ${WORK_KINDS.join(', ')}`)
    return { kind: 'pass' }
  }
  if (kinds.length > 1) {
    part.wrong(
      `node '${key}' does two things at once: ${kinds.join(' and ')}`,
      'a node does one; connect two with next',
    )
  }
  if (kind !== 'run') {
    for (const name of RUN_KEYS) {
      if (part.has(name)) part.get(name).wrong(`'${name}' belongs to a run, node '${key}' is a ${kind}`)
    }
  }
  const of = part.get(kind)
  if (kind === 'run') return readRun(of, part)
  if (kind === 'gate') return readGate(of)
  if (kind === 'child') return readChild(of, build)
  if (kind === 'each') return readEach(key, of, build)
  return { kind: 'pass' }
}

/** `run: type` with its options beside it, or `run: { type, … }` with them inside. */
export function readRun(part: Part, beside: Part): RunWork {
  const inside = part.isObject
  if (inside) part.hasOnly(['type', ...RUN_KEYS], 'a run')
  const options = inside ? part : beside
  const type = inside ? part.get('type') : part
  if (!type.given) part.wrong('a run needs the type of its handler', 'for example run: order.validate')
  return {
    kind: 'run',
    type: type.text('the type of a run') ?? '?',
    queue: options.get('queue').text('queue') ?? 'default',
    priority: options.get('priority').number('priority', Number.MIN_SAFE_INTEGER) ?? 100,
    delayMs: options.get('delay').duration('delay') ?? 0,
    args: options.get('args').json(),
    limitKey: options.get('limitKey').text('limitKey'),
    ...readFairKey(options.get('fairKey')),
    ...(options.has('program') ? { program: options.get('program').json() } : {}),
  }
}

export function readFairKey(part: Part): { readonly fairKey?: string } {
  const key = part.text('fairKey')
  if (key === null) return {}
  if (key !== '' && [...key].length <= MAX_FAIR_KEY_LENGTH) return { fairKey: key }
  part.wrong(`fairKey must have 1 to ${MAX_FAIR_KEY_LENGTH} characters`)
  return {}
}

export function readGate(part: Part): GateWork {
  if (typeof part.value === 'string') return gateOf({ title: part.value })
  if (!part.given || part.value === true) return gateOf({})
  part.hasOnly(['title', 'options', 'timeout', 'onTimeout'], 'a gate')
  const options = part.get('options').json()
  const title = part.get('title').text('title')
  return {
    kind: 'gate',
    options: { ...(title === null ? {} : { title }), ...(options as { readonly [key: string]: Json } | null) },
    timeoutMs: part.get('timeout').duration('timeout'),
    onTimeout: part.get('onTimeout').choice('onTimeout', ['approve', 'reject']) ?? 'reject',
  }
}

function gateOf(options: Json): GateWork {
  return { kind: 'gate', options, timeoutMs: null, onTimeout: 'reject' }
}

function readChild(part: Part, build: Build): ChildWork {
  if (part.isObject) part.hasOnly(['net', 'mode', 'input', 'returns'], 'a child')
  const name = part.isObject ? part.get('net') : part
  if (!name.given) part.wrong('a child names its net', 'for example child: shipping, with shipping under `nets:`')
  const text = name.text('the name of a net')
  const hash = text === null ? null : build.child(text, name)
  const returns = part.get('returns').text('returns')
  if (returns !== null && hash !== null) checkReturns(part.get('returns'), returns, build.nodesOf(hash))
  return {
    kind: 'child',
    net: hash ?? '?',
    mode: part.get('mode').choice('mode', ['attached', 'detached']) ?? 'attached',
    input: part.get('input').json(),
    ...(returns === null ? {} : { returns }),
  }
}

function checkReturns(part: Part, returns: string, nodes: readonly string[]): void {
  if (nodes.includes(returns)) return
  const near = closest(returns, nodes)
  part.wrong(
    `the nested net has no node '${returns}' whose result it could return`,
    near === null ? `its nodes: ${nodes.join(', ')}` : `did you mean '${near}'?`,
  )
}

const EACH_KEYS = ['items', 'run', 'child', 'maxInFlight', 'failFast', 'as', 'collect', 'tolerant', 'shared']

function readEach(key: string, part: Part, build: Build): Work {
  part.hasOnly([...EACH_KEYS, ...RUN_KEYS], 'an each')
  for (const name of ['maxInFlight', 'as', 'tolerant', 'shared']) {
    if (part.has(name)) build.places.set(`nodes.${key}.work.${name}`, part.get(name).path)
  }
  const items = part.get('items')
  if (!items.given) part.wrong('an each needs items', 'an expression that gives a list, or a list')
  if (part.has('run') && part.has('child')) part.wrong('the items of an each are either runs or children', null)
  const body = part.has('run')
    ? readRun(part.get('run'), part)
    : part.has('child')
      ? readChild(part.get('child'), build)
      : null
  const maxInFlight = part.get('maxInFlight')
  if (Array.isArray(items.value))
    build.items.set(
      key,
      items.items('items').map((item) => readItem(item, body === null, build)),
    )
  else if (typeof items.value !== 'string' && items.given) items.wrong('items is an expression or a list')
  const as = part.get('as').text('as')
  return {
    kind: 'each',
    items: typeof items.value === 'string' ? items.value : null,
    body,
    maxInFlight: typeof maxInFlight.value === 'string' ? maxInFlight.value : maxInFlight.number('maxInFlight', 1),
    failFast: part.get('failFast').flag('failFast') ?? false,
    ...(as === null ? {} : { as }),
    ...(part.get('collect').choice('collect', ['list']) === null ? {} : { collect: 'list' }),
    ...(part.get('tolerant').flag('tolerant') === true ? { tolerant: true } : {}),
    ...(part.has('shared') ? { shared: part.get('shared').json() } : {}),
  }
}

/** Without a body every literal item names its own work. */
function readItem(part: Part, namesWork: boolean, build: Build): Item {
  if (!namesWork) return part.json()
  if (!part.hasOnly(['run', 'child', 'input', ...ITEM_RUN_KEYS, 'retry', 'timeout'], 'an item')) return null
  if (part.has('child')) {
    const input = part.get('input').json()
    const name = part.get('child').text('the name of a net')
    const net = name === null ? null : build.child(name, part.get('child'))
    return { child: net ?? '?', start: input === null ? {} : { input } }
  }
  if (!part.has('run'))
    part.wrong('an item of an each without a body names its work', 'for example { run: email.send, args: [1] }')
  const run = readRun(part.get('run'), part)
  const retry = readRetry(part.get('retry'))
  const timeoutMs = part.get('timeout').duration('timeout')
  return {
    run: {
      type: run.type,
      args: run.args,
      queue: run.queue,
      priority: run.priority,
      delayMs: run.delayMs,
      ...(run.limitKey === null ? {} : { limitKey: run.limitKey }),
      ...(run.fairKey === undefined ? {} : { fairKey: run.fairKey }),
      ...(retry === null ? {} : { retry }),
      ...(timeoutMs === null ? {} : { timeoutMs }),
    },
  }
}
