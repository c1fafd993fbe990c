/** Arguments of a run, assembled from its own part and the separately stored part, and the laws of doing so. */
import type { CompiledNet } from '../../src/net/compile.ts'
import { isMap } from '../../src/net/json.ts'
import type { Json } from '../../src/net/net.ts'
import { law } from './laws.ts'

type Slots = ReadonlyMap<string, Json>

/** Only nets that store arguments separately have references. `seen`: the cases that occurred. */
export function wholeArgs(
  { net, keepsAside }: CompiledNet,
  slots: Slots,
  args: Json | null,
  seen: Set<string>,
): Json | null {
  const { inlineBytes = Number.POSITIVE_INFINITY } = net
  if (!isMap(args) || !keepsAside) return args
  const { $ref, $shared } = args as { readonly $ref?: Json; readonly $shared?: Json }
  if (typeof $ref !== 'string' || Object.keys(args).length > 1) {
    law(typeof $shared === 'string' || bytesOf(args) <= inlineBytes, `${bytesOf(args)} bytes are carried about`)
    return withShared(slots, args, seen)
  }
  const value = slots.get($ref)
  law(value !== undefined, `nothing is stored at ${$ref}`)
  const mistakable = isMap(value) && Object.hasOwn(value, '$ref')
  seen.add(mistakable ? 'separate for its form' : 'separate for its length')
  law(mistakable || bytesOf(value) > inlineBytes, `the value at ${$ref} is short`)
  return withShared(slots, value, seen)
}

function withShared(slots: Slots, args: Json, seen: Set<string>): Json {
  if (!isMap(args)) return args
  const { $shared, ...own } = args as { readonly [name: string]: Json }
  if (typeof $shared !== 'string') return args
  const shared = slots.get($shared)
  law(isMap(shared), `nothing is shared at ${$shared}`)
  if (Object.hasOwn(shared, '$shared')) seen.add('separate as if shared')
  return { ...shared, ...own }
}

function bytesOf(args: Json): number {
  return Buffer.byteLength(JSON.stringify(args))
}
