/** Small parts of schemas. */

export type Schema = { readonly [key: string]: unknown }

type Fields = { readonly [name: string]: Schema }

export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

export function text(description?: string, more: Schema = {}): Schema {
  return { type: 'string', ...(description === undefined ? {} : { description }), ...more }
}

export function whole(description?: string, more: Schema = {}): Schema {
  return { type: 'integer', ...(description === undefined ? {} : { description }), ...more }
}

export function flag(description?: string): Schema {
  return { type: 'boolean', ...(description === undefined ? {} : { description }) }
}

export function time(description?: string): Schema {
  return { type: 'string', format: 'date-time', ...(description === undefined ? {} : { description }) }
}

export function uuid(description?: string): Schema {
  return { type: 'string', format: 'uuid', ...(description === undefined ? {} : { description }) }
}

export function word(values: readonly string[], description?: string): Schema {
  return { type: 'string', enum: values, ...(description === undefined ? {} : { description }) }
}

export function list(items: Schema, description?: string): Schema {
  return { type: 'array', items, ...(description === undefined ? {} : { description }) }
}

/** Any JSON value. */
export function anything(description: string): Schema {
  return { description }
}

export function nullable(schema: Schema): Schema {
  return '$ref' in schema ? { anyOf: [schema, { type: 'null' }] } : { ...schema, type: [schema['type'], 'null'] }
}

/** Further fields may exist: clients must ignore them. */
export function object(
  fields: Fields,
  more: { readonly required?: readonly string[]; readonly description?: string } = {},
): Schema {
  return {
    type: 'object',
    ...(more.description === undefined ? {} : { description: more.description }),
    properties: fields,
    ...(more.required === undefined ? {} : { required: more.required }),
  }
}
