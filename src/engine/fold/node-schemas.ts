/** Checks the arguments and results of a node's runs against the schemas of its author. */

import { type Check, checkOf, misfitsOf } from '../../kernel/json-schema.ts'
import type { RunRow } from '../../model/rows.ts'
import type { Failure } from '../../net/marking.ts'
import type { Json, NodeSchema } from '../../net/net.ts'
import { dereferenced } from './dereference.ts'
import { memberOf } from './members.ts'
import type { Members } from './working-set.ts'

const MOST_IN_MESSAGE = 3

/** Why this run cannot be executed with its arguments; null: it can. */
export function inputFailure(change: Members, run: RunRow): Failure | null {
  const schema = schemaOf(change, run)
  if (schema === undefined || schema.input === null) return null
  const payload = dereferenced(change, memberOf(change, run.instanceId as string), run.payload)
  return argumentsFailure(schema, JSON.parse(payload) as Json)
}

/** The same for arguments that no run has yet. */
export function argumentsFailure(schema: NodeSchema | undefined, args: Json): Failure | null {
  const input = schema?.input ?? null
  if (input === null) return null
  let value: Json | undefined = args
  for (const step of input.path) value = own(value, step)
  return failure('invalid_input', 'the input', input.path.join('.') || 'input', checkFor(input.schema), value ?? null)
}

/** Why the result of this run is not valid; null: it is valid. */
export function outputFailure(change: Members, run: RunRow, result: string | null): Failure | null {
  const output = schemaOf(change, run)?.output ?? null
  if (output === null) return null
  const value = result === null ? null : (JSON.parse(result) as Json)
  return failure('invalid_output', 'the result', 'result', checkFor(output), value)
}

function schemaOf(change: Members, run: RunRow): NodeSchema | undefined {
  if (run.instanceId === null || run.node === null || run.role === 'undo') return undefined
  return memberOf(change, run.instanceId).net.byKey.get(run.node)?.schema
}

/** Compiled schemas by their object: nets stay in memory, so a schema need not be serialised to be recognised. */
const known = new WeakMap<object, Check>()

function checkFor(schema: Json): Check {
  if (typeof schema !== 'object' || schema === null) return checkOf(schema)
  let check = known.get(schema)
  if (check === undefined) {
    check = checkOf(schema)
    known.set(schema, check)
  }
  return check
}

function own(value: Json | undefined, step: string): Json | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
  return (value as { readonly [key: string]: Json })[step]
}

function failure(code: string, what: string, at: string, check: Check, value: Json): Failure | null {
  const misfits = misfitsOf(check, value, at)
  if (misfits.length === 0) return null
  const listed = misfits.slice(0, MOST_IN_MESSAGE).map(({ path, message }) => `${path} ${message}`)
  const more = misfits.length > listed.length ? `, and ${misfits.length - listed.length} more` : ''
  return {
    code,
    message: `${what} does not fit its schema: ${listed.join('; ')}${more}`,
    category: 'validation',
    retryable: false,
    details: { validation_errors: misfits.map((misfit) => ({ ...misfit })) },
  }
}
