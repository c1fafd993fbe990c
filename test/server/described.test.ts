/** Bodies are checked as the document describes them: an independent validator of JSON Schema decides. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BodyNotes } from '../../src/kernel/reading/part.ts'
import { openapiDocument } from '../../src/server/openapi/document.ts'
import { DESCRIBED_ROUTES } from '../../src/server/routes.ts'
import { noteMistakes } from '../../src/wire/check.ts'
import { NOTE, type Schema } from '../../src/wire/schema.ts'

const ajv = new Ajv2020({ strict: false, allErrors: true })
;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
ajv.addSchema(openapiDocument('1'), 'api')

/** Routes whose bodies are checked by their schema alone. */
const ROUTES = DESCRIBED_ROUTES.filter(({ description: { body } }) => {
  return body !== undefined && body.types === undefined && body.readByRoute !== true
})

/** Valid and invalid bodies. */
const ODD: readonly unknown[] = [
  undefined,
  null,
  '',
  'x',
  ' x ',
  'a.b.v1',
  'a\u0000b',
  'x'.repeat(256),
  'x'.repeat(513),
  '🗝'.repeat(300),
  '2030-01-31T09:00:00Z',
  'approve',
  0,
  1,
  -1,
  1.5,
  2 ** 31,
  1e300,
  true,
  [],
  ['a.v1'],
  [7],
  Array.from({ length: 101 }, () => 'a.v1'),
  {},
  { message: 'x' },
  { message: 'x', code: '', details: { retry_delay_ms: -1 } },
  { a: 1 },
]

const MEDIA = (path: string): string => `application~1${path.startsWith('~1ojs') ? 'openjobspec+json' : 'json'}`

describe('a described body', () => {
  it('is checked on many routes', () => expect(ROUTES.length).toBeGreaterThan(8))

  it.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))('%s', (_, route) => {
    const { schema } = route.description.body as { readonly schema: Schema }
    const path = route.path.replace(/:(\w+)/g, '{$1}').replaceAll('/', '~1')
    const judge = ajv.getSchema(
      `api#/paths/${path}/${route.method.toLowerCase()}/requestBody/content/${MEDIA(path)}/schema`,
    )
    const fields = schema['properties'] as { readonly [name: string]: Schema }
    const names = [...Object.keys(fields), 'another']
    const record = Object.fromEntries(names.map((name) => [name, fc.constantFrom(...ODD)]))
    fc.assert(
      fc.property(fc.record(record, { requiredKeys: [] }), (given) => {
        // What is undefined is not in JSON.
        const body = JSON.parse(JSON.stringify(given)) as { readonly [name: string]: unknown }
        const notes = new BodyNotes()
        noteMistakes(schema, notes.root(body), schema[NOTE]?.what ?? 'the body')
        const ours = new Set(notes.mistakes.map(({ path: [field] }) => String(field)))
        const verdict = judge?.(body)
        const theirs = new Set((judge?.errors ?? []).map(fieldOf))
        // Everything that the document forbids is refused, field by field.
        expect([...theirs].filter((field) => !ours.has(field))).toEqual([])
        // What it allows is refused only where a function checks more than JSON Schema can express.
        const more = [...ours].filter((field) => !theirs.has(field) && !saysMore(fields[field]))
        expect([body, verdict, more]).toEqual([body, verdict, []])
      }),
      { numRuns: 300 },
    )
  })
})

function fieldOf({ instancePath, params }: { readonly instancePath: string; readonly params: any }): string {
  const [, first] = instancePath.split('/')
  return first ?? params.missingProperty ?? params.additionalProperty
}

function saysMore(schema: Schema | undefined): boolean {
  if (schema === undefined) return false
  const parts = [schema['items'], ...((schema['anyOf'] as readonly unknown[]) ?? [])] as (Schema | undefined)[]
  const inside = Object.values((schema['properties'] as object | undefined) ?? {}) as Schema[]
  const note = schema[NOTE]
  return note?.fits !== undefined || note?.nameProblem !== undefined || [...parts, ...inside].some(saysMore)
}
