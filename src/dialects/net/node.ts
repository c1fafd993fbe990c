/** One node of a net file. */
import type { Item } from '../../engine/api.ts'
import type {
  Admission,
  Arc,
  ChildWork,
  GateWork,
  Json,
  Next,
  Node,
  NodeSchema,
  Retry,
  RunWork,
  Timeout,
  Undo,
  Work,
} from '../../net/net.ts'
import type { Part } from '../reader.ts'
import type { Build } from './parse.ts'

const WORK_KINDS = ['run', 'gate', 'pass', 'child', 'each'] as const
const RUN_KEYS = ['args', 'queue', 'priority', 'delay', 'limitKey']
const OTHER_KEYS = ['join', 'admit', 'retry', 'timeout', 'onFailure', 'undo', 'next', 'appeal', 'schema']
const NODE_KEYS = [...WORK_KINDS, ...RUN_KEYS, ...OTHER_KEYS]

export function readNode(key: string, part: Part, build: Build): Node {
  if (part.value === null) part.wrong(`node '${key}' does not say what it does`, `one of: ${WORK_KINDS.join(', ')}`)
  else part.hasOnly(NODE_KEYS, `node '${key}'`)
  for (const name of [...OTHER_KEYS, ...WORK_KINDS]) {
    if (part.has(name)) build.places.set(`nodes.${key}.${placeName(name)}`, part.get(name).path)
  }
  return {
    key,
    work: readWork(key, part, build),
    join: part.get('join').choice('join', ['each', 'count', 'scope']) ?? 'each',
    admit: readAdmission(part.get('admit')),
    retry: readRetry(part.get('retry')),
    timeout: readTimeout(part.get('timeout')),
    onFailure: part.get('onFailure').choice('onFailure', ['net', 'abort', 'skip', 'compensate', 'route']) ?? 'net',
    undo: readUndo(part.get('undo')),
    next: readNext(key, part.get('next'), build),
    ...(part.has('appeal') ? { appeal: readGate(part.get('appeal')) } : {}),
    ...(part.has('schema') ? { schema: readSchema(key, part.get('schema'), build) } : {}),
  }
}

/** `input` is that of all arguments; `path` leads to a part of them. */
function readSchema(key: string, part: Part, build: Build): NodeSchema {
  part.hasOnly(['input', 'path', 'output'], 'a schema')
  for (const name of ['input', 'output']) {
    if (part.has(name)) build.places.set(`nodes.${key}.schema.${name}`, part.get(name).path)
  }
  const path = part.get('path')
  const steps =
    typeof path.value === 'string'
      ? path.value.split('.')
      : path.items('path').flatMap((p) => p.text('a step of the path') ?? [])
  if (path.given && !part.has('input'))
    path.wrong('path leads to what input is the schema of', 'add input, or leave it out')
  return {
    input: part.has('input') ? { path: steps, schema: part.get('input').json() } : null,
    output: part.get('output').json(),
  }
}

/** The net calls every kind of work `work`. */
function placeName(name: string): string {
  return (WORK_KINDS as readonly string[]).includes(name) ? 'work' : name
}

function readWork(key: string, part: Part, build: Build): Work {
  const kinds = WORK_KINDS.filter((kind) => part.has(kind))
  const [kind] = kinds
  if (kind === undefined) {
    if (part.isObject) part.wrong(`node '${key}' does not say what it does`, `one of: ${WORK_KINDS.join(', ')}`)
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
function readRun(part: Part, beside: Part): RunWork {
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
  }
}

function readGate(part: Part): GateWork {
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
  if (part.isObject) part.hasOnly(['net', 'mode', 'input'], 'a child')
  const name = part.isObject ? part.get('net') : part
  if (!name.given) part.wrong('a child names its net', 'for example child: shipping, with shipping under `nets:`')
  const text = name.text('the name of a net')
  return {
    kind: 'child',
    net: (text === null ? null : build.child(text, name)) ?? '?',
    mode: part.get('mode').choice('mode', ['attached', 'detached']) ?? 'attached',
    input: part.get('input').json(),
  }
}

function readEach(key: string, part: Part, build: Build): Work {
  part.hasOnly(['items', 'run', 'child', ...RUN_KEYS, 'maxInFlight', 'failFast'], 'an each')
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
  return {
    kind: 'each',
    items: typeof items.value === 'string' ? items.value : null,
    body,
    maxInFlight: maxInFlight.number('maxInFlight', 1),
    failFast: part.get('failFast').flag('failFast') ?? false,
  }
}

/** Without a body every literal item names its own work. */
function readItem(part: Part, namesWork: boolean, build: Build): Item {
  if (!namesWork) return part.json()
  if (!part.hasOnly(['run', 'child', 'input', ...RUN_KEYS, 'retry', 'timeout'], 'an item')) return null
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
      ...(retry === null ? {} : { retry }),
      ...(timeoutMs === null ? {} : { timeoutMs }),
    },
  }
}

/** `admit: expr` is short for one rule; a token it denies is held. */
function readAdmission(part: Part): Admission | null {
  if (!part.given) return null
  if (typeof part.value === 'string') return { rules: [{ when: part.value, allow: true }], onDeny: 'hold' }
  part.hasOnly(['when', 'rules', 'onDeny'], 'admit')
  const onDeny = part.get('onDeny').choice('onDeny', ['hold', 'discard']) ?? 'hold'
  if (part.has('rules')) {
    const rules = part
      .get('rules')
      .items('rules')
      .map((rule) => {
        rule.hasOnly(['when', 'allow'], 'a rule')
        return { when: rule.get('when').text('when'), allow: rule.get('allow').flag('allow') ?? true }
      })
    return { rules, onDeny }
  }
  if (!part.has('when')) part.wrong('admit needs a guard', 'for example admit: ctx.approved')
  return { rules: [{ when: part.get('when').text('when'), allow: true }], onDeny }
}

const RETRY_KEYS = [
  'maxAttempts',
  'backoff',
  'initial',
  'coefficient',
  'max',
  'jitter',
  'nonRetryable',
  'retryOn',
  'deadLetter',
]

/** `retry: 3` is short for three executions in all, with the usual backoff. */
function readRetry(part: Part): Retry | null {
  if (!part.given) return null
  const short = typeof part.value === 'number'
  if (!short) part.hasOnly(RETRY_KEYS, 'a retry policy')
  const attempts = short ? part : part.get('maxAttempts')
  const texts = (name: string): readonly string[] =>
    part
      .get(name)
      .items(name)
      .flatMap((item) => item.text('an error code') ?? [])
  const initialMs = part.get('initial').duration('initial') ?? 1000
  return {
    maxAttempts: attempts.number('maxAttempts (executions in all)', 1) ?? 3,
    backoff:
      part.get('backoff').choice('backoff', ['constant', 'linear', 'exponential', 'polynomial']) ?? 'exponential',
    initialMs,
    coefficient: part.get('coefficient').number('coefficient', 1) ?? 2,
    maxMs: part.get('max').duration('max') ?? Math.max(initialMs, 300_000),
    jitter: part.get('jitter').number('jitter', 0) ?? 0.5,
    nonRetryable: texts('nonRetryable'),
    retryOn: part.has('retryOn') ? texts('retryOn') : null,
    deadLetter: part.get('deadLetter').flag('deadLetter') ?? false,
  }
}

/** `timeout: 30s` is a clock per attempt. */
function readTimeout(part: Part): Timeout | null {
  if (!part.given) return null
  if (!part.isObject) {
    const ms = part.duration('timeout')
    return ms === null ? null : { ms, per: 'attempt' }
  }
  part.hasOnly(['after', 'per'], 'a timeout')
  if (!part.has('after')) part.wrong('a timeout says after how long', 'for example { after: 30s, per: node }')
  const ms = part.get('after').duration('after')
  return ms === null ? null : { ms, per: part.get('per').choice('per', ['attempt', 'node']) ?? 'attempt' }
}

function readUndo(part: Part): Undo | null {
  if (!part.given) return null
  if (part.isObject) part.hasOnly(['run', ...RUN_KEYS, 'retry', 'timeout'], 'an undo')
  const run = part.isObject ? part.get('run') : part
  return { work: readRun(run, part), retry: readRetry(part.get('retry')), timeout: readTimeout(part.get('timeout')) }
}

/** `next: a`, `next: [a, b]` (every), or `next: { first | every: […], scope }`. */
function readNext(key: string, part: Part, build: Build): Next {
  if (!part.given) return { mode: 'every', arcs: [], scope: null }
  if (!part.isObject || part.has('to')) return { mode: 'every', arcs: readArcs(key, part, build), scope: null }
  part.hasOnly(['first', 'every', 'scope'], 'next')
  const mode = part.has('first') ? 'first' : 'every'
  if (part.has('first') === part.has('every')) {
    part.wrong('next takes the first arc that holds, or every one', 'next: { first: [ … ] } or next: { every: [ … ] }')
  }
  if (part.has('scope')) build.places.set(`nodes.${key}.next.scope`, part.get('scope').path)
  return { mode, arcs: readArcs(key, part.get(mode), build), scope: part.get('scope').text('scope') }
}

function readArcs(key: string, part: Part, build: Build): readonly Arc[] {
  const items = Array.isArray(part.value) ? part.items('next') : [part]
  return items.map((item, i) => {
    build.places.set(`nodes.${key}.next.arcs[${i}]`, item.path)
    if (!item.isObject) return { to: item.text('the target of an arc') ?? '', when: null, args: null, set: null }
    item.hasOnly(['to', 'when', 'args', 'set'], 'an arc')
    if (!item.has('to')) item.wrong('an arc names its target', '{ to: node, when: guard }')
    for (const name of ['to', 'when', 'args', 'set']) {
      if (item.has(name)) build.places.set(`nodes.${key}.next.arcs[${i}].${name}`, item.get(name).path)
    }
    return {
      to: item.get('to').text('to') ?? '',
      when: item.get('when').text('when'),
      args: readEntries(item.get('args')),
      set: readEntries(item.get('set')),
    }
  })
}

function readEntries(part: Part): { readonly [name: string]: Json } | null {
  if (!part.given) return null
  return Object.fromEntries(part.entries(part.path.at(-1) as string).map(([name, value]) => [name, value.json()]))
}
