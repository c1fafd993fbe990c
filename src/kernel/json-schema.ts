/**
 * JSON Schemas. Draft 2020-12 if a schema declares it or has `prefixItems`, otherwise draft 7. `format` is not checked,
 * and nothing is loaded from elsewhere: a `$ref` leads to another part of the same schema.
 *
 * A check blocks everything else, and a schema can be written so that it never ends (nested repeats in a `pattern`,
 * references that multiply, `uniqueItems` over a long list). So those that could are given a time limit, after which
 * the value counts as one that does not fit.
 */
import { createRequire } from 'node:module'
import vm from 'node:vm'
import type { Ajv, ValidateFunction } from 'ajv'
import type { Json, Net } from '../net/net.ts'
import type { Problem } from '../net/validate/policy.ts'

const OPTIONS = { strict: false, allErrors: true, validateFormats: false, logger: false } as const
const MOST_TOLD = 20
const LONGEST_PATH = 200
const MOST_CHARACTERS = 65_536
const LONGEST_CHECK_MS = 250
/** Number of compiled schemas kept; together at most 16 MB of schema text. */
const MOST_KEPT = 250
const COULD_TAKE_LONG = /"(?:pattern|patternProperties|uniqueItems|\$ref|\$dynamicRef|\$recursiveRef)":/
/** The validator is loaded with the first schema: most processes never need it, and nets are checked synchronously. */
const load = createRequire(import.meta.url)

/** Decides whether a value fits, and reports what does not. */
export interface Check {
  (value: unknown): boolean
  errors?: ValidateFunction['errors']
}

/** Throws if it is not a JSON Schema. */
export function compileSchema(schema: unknown): Check {
  const text = JSON.stringify(schema) ?? ''
  if (text.length > MOST_CHARACTERS) throw new Error(`${text.length} characters; at most ${MOST_CHARACTERS}`)
  const { $schema, ...rest } = (typeof schema === 'object' ? schema : {}) as Record<string, unknown>
  const draft2020 = typeof $schema === 'string' ? $schema.includes('2020-12') : rest['prefixItems'] !== undefined
  const Checker: new (options: typeof OPTIONS) => Pick<Ajv, 'compile'> = draft2020
    ? (load('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')).Ajv2020
    : (load('ajv') as typeof import('ajv')).Ajv
  // A validator for each: schemas must not meet under the same $id.
  const check = new Checker(OPTIONS).compile(typeof schema === 'boolean' ? schema : rest) as Check
  return COULD_TAKE_LONG.test(text) ? timed(check) : check
}

let room: { check: (() => boolean) | null } | null = null
let call: vm.Script | null = null

/** Costs 0.07 ms beyond the check itself. */
function timed(check: Check): Check {
  const within: Check = (value) => {
    room ??= vm.createContext({ check: null }) as { check: (() => boolean) | null }
    call ??= new vm.Script('check()')
    try {
      room.check = () => check(value)
      const fits = call.runInContext(room, { timeout: LONGEST_CHECK_MS }) as boolean
      within.errors = check.errors ?? null
      return fits
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
      const message = `could not be checked within ${LONGEST_CHECK_MS} ms`
      within.errors = [{ instancePath: '', schemaPath: '', keyword: 'timeout', params: {}, message }]
      return false
    } finally {
      room.check = null
    }
  }
  return within
}

const kept = new Map<string, Check>()

/** The same, compiled once while it is among the most recent. */
export function checkOf(schema: Json): Check {
  const text = JSON.stringify(schema)
  let check = kept.get(text)
  if (check === undefined) {
    check = compileSchema(schema)
    if (kept.size >= MOST_KEPT) kept.clear()
    kept.set(text, check)
  }
  return check
}

/** What is wrong with a schema; null: it is valid. */
export function schemaProblem(schema: Json): string | null {
  if (typeof schema !== 'boolean' && (typeof schema !== 'object' || schema === null || Array.isArray(schema))) {
    return 'a JSON Schema: an object, or true'
  }
  try {
    checkOf(schema)
    return null
  } catch (error) {
    return `not a JSON Schema: ${(error as Error).message}`
  }
}

export interface Misfit {
  readonly path: string
  readonly message: string
}

/** The places where a value does not fit, each path beginning with `at`; empty: it fits. */
export function misfitsOf(check: Check, value: unknown, at: string): readonly Misfit[] {
  if (check(value)) return []
  return (check.errors ?? []).slice(0, MOST_TOLD).map((error) => ({
    path: `${at}${error.instancePath.replaceAll('/', '.')}`.slice(0, LONGEST_PATH),
    message: error.message ?? error.keyword,
  }))
}

/** The schemas of the nodes of a net that are not valid, with the path of each mistake. */
export function schemaProblems(net: Net): readonly Problem[] {
  return net.nodes.flatMap(({ key, schema }) => {
    if (schema === undefined) return []
    const parts = { input: schema.input?.schema ?? null, output: schema.output }
    return Object.entries(parts).flatMap(([name, part]) => {
      const message = part === null ? null : schemaProblem(part)
      return message === null ? [] : [{ path: `nodes.${key}.schema.${name}`, message }]
    })
  })
}
