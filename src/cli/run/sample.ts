/** A value that fits a JSON Schema, for stand-ins: small, and only as elaborate as schemas of results usually are. */
import { compileSchema } from '../../kernel/json-schema.ts'
import type { Json } from '../../net/net.ts'

type Schema = { readonly [keyword: string]: Json | undefined }

/** `otherwise`: returned if it fits, or if no fitting value was found. */
export function sampleOf(schema: Json, otherwise: Json): Json {
  const fits = compileSchema(schema)
  if (fits(otherwise)) return otherwise
  const sample = made(schema)
  return fits(sample) ? sample : otherwise
}

function made(schema: Json | undefined): Json {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return {}
  const { const: fixed, default: usual, enum: choices, examples, anyOf, oneOf, type, ...rest } = schema as Schema
  if (fixed !== undefined) return fixed
  if (usual !== undefined) return usual
  for (const list of [choices, examples]) if (Array.isArray(list) && list.length > 0) return list[0] as Json
  for (const list of [anyOf, oneOf]) if (Array.isArray(list) && list.length > 0) return made(list[0] as Json)
  const [kind] = Array.isArray(type) ? type : [type]
  return ofType(kind ?? (rest['properties'] || rest['required'] ? 'object' : 'string'), rest)
}

function ofType(type: Json, schema: Schema): Json {
  if (type === 'object') return object(schema)
  if (type === 'array') return Array.from({ length: Number(schema['minItems'] ?? 0) }, () => made(schema['items']))
  if (type === 'number' || type === 'integer') {
    const least = Number(schema['minimum'] ?? schema['exclusiveMinimum'] ?? 0)
    return schema['exclusiveMinimum'] === undefined ? Math.ceil(least) : Math.floor(least) + 1
  }
  if (type === 'boolean') return true
  if (type === 'null') return null
  return 'x'.repeat(Number(schema['minLength'] ?? 1))
}

function object(schema: Schema): Json {
  const properties = (schema['properties'] ?? {}) as { readonly [key: string]: Json }
  const required = (Array.isArray(schema['required']) ? schema['required'] : []) as readonly string[]
  return Object.fromEntries(required.map((key) => [key, made(properties[key])]))
}
