/**
 * JSON Schemas that carry the TypeScript type of what they describe. One description gives the check of a request, the
 * type its handler works with, the type of a reply and its part of the OpenAPI document.
 *
 * What JSON Schema cannot express (the explanation of a mistake, a check by a function, the name of a component) is
 * stored under a symbol, so that `JSON.stringify` writes only the schema.
 */

declare const VALUE: unique symbol
declare const OPTIONAL: unique symbol
export const NOTE: unique symbol = Symbol('note')

/** The extensions of a schema beside its keywords. */
export interface Note {
  /** Its name among the components of the document, which refers to it by this name. */
  readonly name?: string
  /** What is expected, after "is": `a date and time between 1970 and 9999`. Default: made from the keywords. */
  readonly is?: string
  /** The suggestion in the answer to a wrong value. */
  readonly hint?: string
  /** Checks what its keywords cannot express. Returns a complete description of the problem. */
  readonly fits?: (value: never) => boolean | string
  /** An object: its name in "… has no key 'x'". */
  readonly what?: string
  /** Names of entries: the problem with one; null: none. */
  readonly nameProblem?: (name: string) => string | null
  readonly optional?: true
}

export interface Schema<T = unknown> {
  readonly [keyword: string]: unknown
  readonly [NOTE]?: Note
  readonly [VALUE]?: () => T
}

export interface Optional<T = unknown> extends Schema<T> {
  readonly [OPTIONAL]: true
}

/** The type of what a schema describes. */
export type Value<S> = S extends { readonly [VALUE]?: () => infer T } ? T : never

type Fields = { readonly [name: string]: Schema<unknown> }

type Flat<T> = { [K in keyof T]: T[K] }
type RequiredOf<F> = { readonly [K in keyof F as F[K] extends Optional ? never : K]: Value<F[K]> }
type OptionalOf<F> = { readonly [K in keyof F as F[K] extends Optional ? K : never]?: Value<F[K]> }
type OmittableOf<F> = { readonly [K in keyof F as F[K] extends Optional ? K : never]?: Value<F[K]> | null }

/** JSON Schema's keywords, and their extensions. */
export interface More extends Note {
  readonly description?: string
  readonly [keyword: string]: unknown
}

const NOTES = ['name', 'is', 'hint', 'fits', 'what', 'nameProblem'] as const

function schema<T>(keywords: object, more: More | string = {}): Schema<T> {
  const { name, is, hint, fits, what, nameProblem, ...rest } = typeof more === 'string' ? { description: more } : more
  const given = { name, is, hint, fits, what, nameProblem }
  const note = Object.fromEntries(NOTES.flatMap((key) => (given[key] === undefined ? [] : [[key, given[key]]])))
  return { ...keywords, ...rest, [NOTE]: note as Note }
}

export const text = (more?: More | string): Schema<string> => schema({ type: 'string' }, more)

/** Text that no database stores is refused. Counted as the databases count: characters, not surrogates. */
export const line = (most: number, more: More | string = {}): Schema<string> => {
  const given = typeof more === 'string' ? { description: more } : more
  return schema(
    { type: 'string', minLength: 1, maxLength: most },
    { hint: 'any characters but NUL; leave it out for none', ...given, fits: both(storable, given.fits) },
  )
}

export const whole = (more?: More | string): Schema<number> => schema({ type: 'integer' }, more)

export const number = (more?: More | string): Schema<number> => schema({ type: 'number' }, more)

export const flag = (more?: More | string): Schema<boolean> => schema({ type: 'boolean' }, more)

export const time = (more?: More | string): Schema<string> => schema({ type: 'string', format: 'date-time' }, more)

export const uuid = (more?: More | string): Schema<string> => schema({ type: 'string', format: 'uuid' }, more)

export const word = <const W extends string>(words: readonly W[], more?: More | string): Schema<W> =>
  schema({ type: 'string', enum: words }, more)

export const list = <T>(items: Schema<T>, more?: More | string): Schema<readonly T[]> =>
  schema({ type: 'array', items }, more)

/** Any JSON value. */
export const anything = (more?: More | string): Schema<unknown> => schema({}, more)

/** Values by name. */
export const entries = <T>(values: Schema<T>, more?: More | string): Schema<{ readonly [name: string]: T }> =>
  schema({ type: 'object', additionalProperties: values }, more)

/** An object of a reply. Later versions may add fields: clients must ignore unknown ones. */
export const object = <F extends Fields>(
  fields: F,
  more?: More | string,
): Schema<Flat<RequiredOf<F> & OptionalOf<F>>> => schema({ type: 'object', ...fieldsOf(fields) }, more)

/** An object of a request: an unknown key is a mistake, since it is probably misspelt. null means a missing field. */
export const asked = <F extends Fields>(
  what: string,
  fields: F,
  more: More = {},
): Schema<Flat<RequiredOf<F> & OmittableOf<F>>> => {
  const omittable = Object.entries(fields).map(([key, field]) => [key, isOptional(field) ? orNull(field) : field])
  const { properties, required } = fieldsOf(fields)
  return schema(
    {
      type: 'object',
      properties: { ...(properties as object), ...Object.fromEntries(omittable) },
      ...(required === undefined ? {} : { required }),
      additionalProperties: false,
    },
    { ...more, what },
  )
}

/** An object of a request in which unknown keys are allowed, and ignored. */
export function extensible<S extends Schema>(of: S): S {
  const { additionalProperties: _, ...rest } = of
  return rest as unknown as S
}

/** An optional field. */
export function optional<T>(of: Schema<T>): Optional<T> {
  return { ...of, [NOTE]: { ...of[NOTE], optional: true } } as unknown as Optional<T>
}

export function nullable<T>(of: Schema<T>): Schema<T | null> {
  return orNull(of) as Schema<T | null>
}

export function oneOf<const S extends readonly Schema[]>(options: S, more?: More | string): Schema<Value<S[number]>> {
  return schema({ anyOf: options }, more)
}

/** A reference to the component of this name, for recursive schemas. */
export const component = (name: string): Schema<unknown> => schema({ $ref: `#/components/schemas/${name}` })

/** A component of the document: described once, and referred to by name. */
export function named<S extends Schema>(name: string, of: S): S {
  return { ...of, [NOTE]: { ...of[NOTE], name } }
}

export function isOptional(of: Schema): boolean {
  return of[NOTE]?.optional === true
}

function orNull(of: Schema): Schema {
  const { type } = of
  if (of[NOTE]?.name === undefined && typeof type === 'string' && of['enum'] === undefined) {
    return { ...of, type: [type, 'null'] }
  }
  // A value of any type may be null.
  if (type === undefined && of['anyOf'] === undefined) return of
  const { optional: _, ...note } = of[NOTE] ?? {}
  return {
    anyOf: [{ ...of, [NOTE]: note }, { type: 'null' }],
    [NOTE]: of[NOTE]?.optional === true ? { optional: true } : {},
  }
}

function fieldsOf(fields: Fields): { readonly properties: Fields; readonly required?: readonly string[] } {
  const required = Object.keys(fields).filter((key) => !isOptional(fields[key] as Schema))
  return { properties: fields, ...(required.length === 0 ? {} : { required }) }
}

/** Text that no database stores. */
export function storable(value: string): boolean {
  return !value.includes('\u0000') && value.isWellFormed()
}

function both(one: (value: string) => boolean, other: Note['fits']): (value: never) => boolean | string {
  return (value: string) => one(value) && (other === undefined || other(value as never))
}
