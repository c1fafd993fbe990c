/** Routes in the form of the document, and the components they refer to. */
import { accessOf, type Route } from '../../http/describe/route.ts'
import { ErrorReply } from '../../wire/error-details.ts'
import { NOTE, type Schema } from '../../wire/schema.ts'
import { operationObject } from './operation.ts'

type Described = Pick<Route<never>, 'method' | 'path' | 'description'>

export interface Derived {
  readonly paths: { readonly [path: string]: { readonly [method: string]: object } }
  readonly schemas: { readonly [name: string]: object }
}

export function derive(routes: readonly Described[]): Derived {
  const paths: Record<string, Record<string, object>> = {}
  const schemas: Record<string, object> = {}
  for (const { method, path, description } of routes) {
    const access = accessOf(description)
    const scope = access === 'none' ? access : access.scope
    const shown = path.replace(/:(\w+)/g, '{$1}')
    const word = method.toLowerCase()
    const operation = operationObject({ method: word, path: shown, scope, description })
    paths[shown] = { ...paths[shown], [word]: plain(operation, schemas) as object }
  }
  plain(ErrorReply, schemas)
  return { paths, schemas }
}

/** The schema that a component was made of. */
const sources = new WeakMap<object, object>()

/** Without values that JSON omits; a component is a reference, and is added to the others. */
function plain(value: unknown, schemas: Record<string, object>): unknown {
  if (Array.isArray(value)) return value.map((item) => plain(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const name = (value as Schema)[NOTE]?.name
  const inside = (): object =>
    Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part, schemas)]))
  if (name === undefined) return inside()
  if (schemas[name] === undefined) {
    // Before its content, which may refer to it.
    schemas[name] = {}
    schemas[name] = inside()
    sources.set(schemas[name], value)
  } else if (
    (sources.get(schemas[name]) ?? value) !== value &&
    JSON.stringify(inside()) !== JSON.stringify(schemas[name])
  ) {
    throw new Error(`two different components have the name ${name}`)
  }
  return { $ref: `#/components/schemas/${name}` }
}
