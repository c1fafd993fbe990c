/** One node of a net file. */

import type { Part } from '../../kernel/reading/part.ts'
import type { Admission, Arc, Json, Next, Node, NodeSchema, Undo } from '../../net/net.ts'
import type { Build } from './build.ts'
import { readRetry, readTimeout } from './policy.ts'
import { RUN_KEYS, readGate, readRun, readWork, WORK_KINDS } from './work.ts'

const OTHER_KEYS = [
  'join',
  'admit',
  'retry',
  'timeout',
  'onFailure',
  'undo',
  'next',
  'appeal',
  'schema',
  'set',
  'unknown',
]
const NODE_KEYS = [...WORK_KINDS, ...RUN_KEYS, ...OTHER_KEYS]

export function readNode(key: string, part: Part, build: Build): Node {
  if (part.value === null) part.wrong(`node '${key}' must name its work`, `one of: ${WORK_KINDS.join(', ')}`)
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
    ...(part.has('set') ? { set: readEntries(part.get('set')) ?? {} } : {}),
    ...readUnknown(part.get('unknown')),
  }
}

function readUnknown(part: Part): Pick<Node, 'unknown'> {
  const unknown = part.choice('unknown', ['ignore', 'stop', 'undo'])
  return unknown === null ? {} : { unknown }
}

/** The net has the field `work` for every kind of work. */
function placeName(name: string): string {
  return (WORK_KINDS as readonly string[]).includes(name) ? 'work' : name
}

/** `input` validates all arguments; `path` leads to a part of them. */
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
  return { mode, arcs: readArcs(key, part.get(mode), build), scope: readScope(part.get('scope')) }
}

/** One join, or several, the outermost first. */
function readScope(part: Part): Next['scope'] {
  if (!Array.isArray(part.value)) return part.text('scope')
  return part.items('scope').flatMap((item) => item.text('a node') ?? [])
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
