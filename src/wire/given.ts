/** The origin of an instance: who started it, its input, and its current context. */
import type { JsonText } from '../model/rows.ts'
import type { About } from '../net/slots.ts'
import { anything, entries, list, nullable, text, type Value } from './schema.ts'
import { json } from './value.ts'

export const Context = entries(anything(), 'Entries by name, set by steps and patches.')

export const GIVEN = {
  initiator: nullable(text('Who started it.')),
  tags: list(text(), 'Of its definition and of its start.'),
  meta: anything('Added by the starter.'),
  input: anything('The input of the start.'),
  context: Context,
}

type GivenWire = { readonly [K in keyof typeof GIVEN]: Value<(typeof GIVEN)[K]> }

export interface Given {
  readonly about: JsonText | null
  readonly input: JsonText | null
  readonly context: ReadonlyMap<string, JsonText>
}

export function givenWire({ about: stored, input, context }: Given): GivenWire {
  const about = json(stored) as About | null
  return {
    initiator: about?.initiator ?? null,
    tags: about?.tags ?? [],
    meta: about?.meta ?? null,
    input: json(input),
    context: contextWire(context),
  }
}

export function contextWire(context: Given['context']): Value<typeof Context> {
  return Object.fromEntries([...context].map(([name, value]) => [name, json(value)]))
}
