/** The arguments that an operator gives to the place it goes back to, checked before the instance is created. */
import { inputError } from '../../../kernel/errors.ts'
import { storableText } from '../../../kernel/json-limits.ts'
import type { Queries } from '../../../model/queries/queries.ts'
import type { Edit } from '../../../model/queries/repeats.ts'
import type { RunRow } from '../../../model/rows.ts'
import type { CompiledNet } from '../../../net/compile.ts'
import { isMap } from '../../../net/json.ts'
import type { Json, Node } from '../../../net/net.ts'
import { hasMark, isReference, sharedIn } from '../../../net/references.ts'
import { SLOT, type SlotKey } from '../../../net/slots.ts'
import { checkInput } from '../../fold/instance/input-defaults.ts'
import { argumentsFailure } from '../../fold/node-schemas.ts'
import { chunkOf } from '../../fold/run/run-creation.ts'
import type { Chosen } from './chosen-place.ts'

interface Place extends Chosen {
  readonly queries: Queries
  readonly net: CompiledNet
  readonly instanceId: string
  readonly netOf: (hash: string) => Promise<CompiledNet>
  readonly maxPayloadBytes: number
}

/** undefined: not edited. */
export async function editedArguments(place: Place, { args, patch }: Edit): Promise<Json | undefined> {
  const name = args === undefined ? 'args_patch' : 'args'
  if (args === undefined && patch === undefined) return undefined
  if (args !== undefined && patch !== undefined) {
    throw inputError('invalid_request', 'args_patch', 'not together with args', { hint: 'Send one of them.' })
  }
  const { node, work, net, maxPayloadBytes } = place
  if (work?.kind === 'gate') {
    throw inputError('invalid_request', name, `step '${node.key}' is a gate, which is asked as before`, {
      hint: 'Leave them out, or go back to the step before the gate.',
    })
  }
  if (node.work.kind === 'each' && place.place.item < 0) {
    throw inputError('invalid_request', name, `step '${node.key}' is a list, and each item has arguments of its own`, {
      hint: 'Name an item: from.item.',
    })
  }
  if (work?.kind !== 'run') return childInput(place, name, args, patch)
  const run = (await place.queries.run(work.id)) as RunRow
  const before = await wholeArguments(place, run)
  const given = args === undefined ? merged(before, patch as Json) : args
  storableText(given, name, maxPayloadBytes)
  checkKind(name, before, given)
  if (net.keepsAside && hasMark(given)) {
    throw inputError('invalid_request', name, 'the keys $ref and $shared are reserved at the top of arguments', {
      hint: 'Give the value itself instead of a reference.',
    })
  }
  const misfit = argumentsFailure(node.schema, given)
  if (misfit === null) return given
  throw inputError('schema_validation', name, misfit.message, {
    ...(isMap(misfit.details) ? misfit.details : {}),
    hint: `Give arguments that fit the input schema of step '${node.key}'.`,
  })
}

/** Handlers read a list or a map; the other one would fail in each of them in another way. */
function checkKind(name: string, before: Json, given: Json): void {
  const [was, is] = [kindOf(before), kindOf(given)]
  if (typeof before !== 'object' || before === null || was === is) return
  throw inputError('invalid_request', name, `must be ${was}, as the arguments of this run were, not ${is}`, {
    hint: 'petrel runs show RUN prints the arguments of a run.',
  })
}

function kindOf(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

/** With what is stored separately. */
async function wholeArguments({ queries, net, instanceId }: Place, run: RunRow): Promise<Json> {
  const payload = JSON.parse(run.payload) as Json
  if (!net.keepsAside) return payload
  const stored = async (key: SlotKey<Json>): Promise<Json> => {
    const text = await queries.slot({ instanceId, key })
    return text === null ? null : (JSON.parse(text) as Json)
  }
  const value = isReference(payload) ? await stored(payload.$ref) : payload
  const { key, own } = sharedIn(value)
  return key === null ? value : { ...((await stored(key)) as object | null), ...own }
}

async function childInput(place: Place, name: string, args: Json | undefined, patch: Json | undefined): Promise<Json> {
  const { node, work, queries } = place
  const body = node.work.kind === 'each' ? node.work.body : node.work
  const hint = `Go back to one of its own steps: POST /v1/instances/${work?.id ?? 'ID'}/retry with from.`
  const literal = body === null || (await literalStart(place, node))
  if (literal || body?.kind !== 'child') {
    throw inputError('invalid_request', name, `the workflow nested in step '${node.key}' has no input`, { hint })
  }
  const text = work === null ? null : await queries.slot({ instanceId: work.id, key: SLOT.input.key })
  const before = text === null ? null : (JSON.parse(text) as Json)
  const given = args === undefined ? merged(before, patch as Json) : args
  storableText(given, name, place.maxPayloadBytes)
  const nested = await place.netOf(body.net)
  checkInput(nested.net.input, given, name)
  return given
}

/** Its jobs have the arguments that the start gave them. */
async function literalStart({ queries, net, instanceId }: Place, node: Node): Promise<boolean> {
  const key = SLOT.literals.key(chunkOf({ net }, node.key))
  const text = await queries.slot({ instanceId, key })
  return text !== null && (JSON.parse(text) as { readonly [node: string]: Json })[node.key] !== undefined
}

/** JSON Merge Patch: null removes a key. */
function merged(target: Json, patch: Json): Json {
  if (!isMap(patch)) return patch
  const result = new Map(Object.entries(isMap(target) ? target : {}))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key)
    else result.set(key, merged(result.get(key) ?? null, value))
  }
  return Object.fromEntries(result)
}
