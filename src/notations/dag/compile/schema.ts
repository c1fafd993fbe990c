/** `inputSchema` and `outputSchema`: JSON Schemas that the engine validates a step against. */
import { compileSchema } from '../../../kernel/json-schema.ts'
import type { Json } from '../../../net/net.ts'
import { closest, type Part } from '../../source/reader.ts'
import { partAt, type Reading } from './reading.ts'

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']
/** The validator's message: the place inside the schema, and what is wrong there. */
const INVALID = /^schema is invalid: data(\/[^ ]*)? ([^,]*)/

/** null: none, or not a usable one. */
export function readSchema(part: Part, what: string, reading: Reading): Json | null {
  if (!part.given) return null
  if (!part.isObject && typeof part.value !== 'boolean') {
    part.wrong(`${what} is a JSON Schema, this is no mapping`, `${what}: { type: object, required: [id] }`)
    return null
  }
  const schema = part.json()
  const problem = reading.remember(`schema ${JSON.stringify(schema)}`, () => problemOf(schema))
  if (problem === null) return schema
  const at = problem.path.reduce(partAt, part)
  const near = problem.path.at(-1) === 'type' && typeof at.value === 'string' ? closest(at.value, TYPES) : null
  at.wrong(
    `not a JSON Schema: ${problem.message}`,
    near === null ? `${what}: { type: object, required: [id] }` : `did you mean '${near}'?`,
  )
  return null
}

interface Problem {
  readonly path: readonly string[]
  readonly message: string
}

function problemOf(schema: Json): Problem | null {
  try {
    compileSchema(schema)
    return null
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    const [, pointer, what] = INVALID.exec(message) ?? []
    if (what === undefined) return { path: [], message }
    const path = (pointer ?? '').split('/').slice(1)
    return { path: path.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~')), message: what }
  }
}
