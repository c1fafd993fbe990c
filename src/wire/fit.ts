/** Whether a value matches its description. Every request passes here; check.ts explains mismatches. */
import { NOTE, type Schema } from './schema.ts'

/** A compiled schema. */
interface Plan {
  readonly options: readonly Schema[] | null
  /** null: of any type. */
  readonly type: string | null
  readonly mayBeNull: boolean
  readonly fields: readonly (readonly [string, Schema])[]
  readonly required: ReadonlySet<string>
  readonly keys: ReadonlySet<string>
  readonly closed: boolean
  readonly others: Schema | null
  readonly items: Schema | null
  readonly words: readonly unknown[] | null
  readonly least: number
  readonly most: number
  readonly fits: ((value: never) => boolean | string) | null
  readonly nameProblem: ((name: string) => string | null) | null
}

const plans = new WeakMap<Schema, Plan>()

export function planOf(of: Schema): Plan {
  let plan = plans.get(of)
  if (plan === undefined) {
    plan = read(of)
    plans.set(of, plan)
  }
  return plan
}

const LEAST = ['minimum', 'minLength', 'minItems', 'minProperties'] as const
const MOST = ['maximum', 'maxLength', 'maxItems'] as const

function read(of: Schema): Plan {
  const types = of['type'] === undefined ? [] : [of['type']].flat()
  const fields = Object.entries((of['properties'] ?? {}) as { readonly [name: string]: Schema })
  const others = of['additionalProperties']
  const bound = (names: readonly string[]): number | undefined => names.map((name) => of[name] as number).find(isGiven)
  return {
    options: (of['anyOf'] as readonly Schema[] | undefined) ?? null,
    type: ((types.find((type) => type !== 'null') ?? types[0]) as string | undefined) ?? null,
    mayBeNull: types.includes('null'),
    fields,
    required: new Set(of['required'] as readonly string[] | undefined),
    keys: new Set(fields.map(([key]) => key)),
    closed: others === false,
    others: typeof others === 'object' ? (others as Schema) : null,
    items: (of['items'] as Schema | undefined) ?? null,
    words: (of['enum'] as readonly unknown[] | undefined) ?? null,
    least: bound(LEAST) ?? Number.NEGATIVE_INFINITY,
    most: bound(MOST) ?? Number.POSITIVE_INFINITY,
    fits: of[NOTE]?.fits ?? null,
    nameProblem: of[NOTE]?.nameProblem ?? null,
  }
}

function isGiven(bound: number | undefined): bound is number {
  return bound !== undefined
}

export function fits(of: Schema, value: unknown): boolean {
  const plan = planOf(of)
  if (plan.options !== null) return plan.options.some((option) => fits(option, value))
  if (value === null && plan.mayBeNull) return true
  switch (plan.type) {
    case 'null':
      return value === null
    case null:
      return plan.fields.length === 0 || !isMapping(value) || mappingFits(plan, value)
    case 'object':
      return isMapping(value) && mappingFits(plan, value)
    case 'array':
      return listFits(plan, value)
    case 'string':
      return textFits(plan, value) === true
    case 'integer':
      return Number.isInteger(value) && (value as number) >= plan.least && (value as number) <= plan.most
    case 'number':
      return typeof value === 'number' && value >= plan.least && value <= plan.most
    default:
      return typeof value === 'boolean'
  }
}

type Mapping = { readonly [name: string]: unknown }

export function isMapping(value: unknown): value is Mapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function mappingFits(plan: Plan, value: Mapping): boolean {
  for (const [key, field] of plan.fields) {
    // Inherited properties do not count as given.
    const inside = Object.hasOwn(value, key) ? value[key] : undefined
    if (inside === undefined ? plan.required.has(key) : !fits(field, inside)) return false
  }
  if (!plan.closed && plan.others === null) return true
  const names = Object.keys(value)
  if (names.length < plan.least) return false
  for (const key of names) {
    if (plan.keys.has(key)) continue
    if (plan.others === null || (plan.nameProblem?.(key) ?? null) !== null || !fits(plan.others, value[key]))
      return false
  }
  return true
}

function listFits({ items, least, most }: Plan, value: unknown): boolean {
  if (!Array.isArray(value) || value.length < least || value.length > most) return false
  return items === null || value.every((item) => fits(items, item))
}

/** A text: its problem. */
export function textFits(plan: Plan, value: unknown): boolean | string {
  if (typeof value !== 'string') return false
  if (plan.words !== null) return plan.words.includes(value)
  if (value.length < plan.least || tooLong(value, plan.most)) return false
  return plan.fits?.(value as never) ?? true
}

/** Counted as the databases count, and only up to the limit of a text. */
function tooLong(value: string, most: number): boolean {
  return value.length > most && [...value.slice(0, 2 * most + 2)].length > most
}
