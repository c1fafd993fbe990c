/** The event at the end of a step, which its arcs read, with the step's result. */

import { Alias, type Face, ownKey } from '../../../expr/index.ts'
import type { Json } from '../../../net/net.ts'
import { group } from './group.ts'
import { type Fields, outcomeOf, outputOf } from './output.ts'

export interface BoundaryEvent {
  readonly event: Face
  readonly output: Face
  readonly outcome: Face
}

/** The event as the net records it: node, kind, status, error, result. */
export function boundaryEvent(happened: Json): BoundaryEvent {
  const field = (name: string): Json => ownKey(happened, name) ?? null
  const failed = field('status') === 'failed'
  const error = failed ? errorOf(field('error')) : null
  const status = failed ? 'error' : 'ok'
  const result = field('result')
  const name = failed ? 'step.failed' : field('kind') === 'each' ? 'loop.done' : 'step.done'
  const step = field('node')
  const found = extras(field('error'))
  const outcome = outcomeOf({ status, result, error, ...found })
  const payload = { status, result, error }
  return {
    event: group(
      { name: eventName(name), step, status: failed ? 'error' : 'success', error, payload: outcome },
      { name, step, status: failed ? 'error' : 'success', error, payload },
    ),
    output: outputOf({ status, data: result, error, ...found }),
    outcome,
  }
}

/** The error of a tool if the step failed because of it; otherwise the failure in the same form. */
function errorOf(failure: Json): Json {
  const own = ownKey(ownKey(failure, 'details') ?? null, 'error')
  if (ownKey(own, 'kind') !== undefined) return own as Json
  const code = ownKey(failure, 'code') ?? 'unknown'
  const message = ownKey(failure, 'message') ?? ''
  return { kind: code, retryable: false, code, message }
}

/** The details of a failure in the tool's protocol. */
function extras(failure: Json): Fields {
  const details = ownKey(failure, 'details') ?? null
  const kept: Record<string, Json> = {}
  for (const name of ['http', 'pg', 'py']) {
    const value = ownKey(details, name)
    if (value !== undefined) kept[name] = value
  }
  return kept
}

/** The notation has had several names for each boundary event: they all compare equal to it. */
const ALIASES: ReadonlyMap<string, readonly string[]> = new Map([
  ['step.done', ['step.done', 'call.done', 'step.exit']],
  ['step.failed', ['step.failed', 'call.error']],
])

function eventName(name: string): Face {
  const names = ALIASES.get(name)
  return names === undefined ? name : new EventName(name, names)
}

class EventName extends Alias {
  readonly plain: string
  override readonly names: readonly string[]

  constructor(name: string, names: readonly string[]) {
    super()
    this.plain = name
    this.names = names
  }

  key(): Face {
    return undefined
  }
}
