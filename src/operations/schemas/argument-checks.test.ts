import { describe, expect, it } from 'vitest'
import type { SchemaRow, Settings } from '../../model/registry.ts'
import { ArgumentChecks } from './argument-checks.ts'

function checksOf(schemas: { readonly [uri: string]: object }): { checks: ArgumentChecks; reads: () => number } {
  let reads = 0
  const schemaByUri: Settings['schemaByUri'] = async (uri) => {
    reads++
    return uri in schemas ? ({ uri, schema: JSON.stringify(schemas[uri]) } as SchemaRow) : null
  }
  return { checks: new ArgumentChecks({ schemaByUri } as Settings), reads: () => reads }
}

describe('arguments against a registered schema', () => {
  it('are checked as a list', async () => {
    const { checks } = checksOf({ a: { type: 'array', items: { type: 'string' } } })
    expect(await checks.misfits('a', ['x'], 'args')).toEqual([])
    expect(await checks.misfits('a', ['x', 1], 'args')).toMatchObject([{ path: 'args.1' }])
  })

  it('are checked by their first one if the schema describes an object', async () => {
    const { checks } = checksOf({ a: { type: 'object', properties: { to: { type: 'string' } } } })
    expect(await checks.misfits('a', [{ to: 'x' }, 7], 'args')).toEqual([])
    expect(await checks.misfits('a', [{ to: 1 }], 'jobs.0.args')).toMatchObject([{ path: 'jobs.0.args.0.to' }])
  })

  it('of a type without a registered schema are accepted', async () => {
    expect(await checksOf({}).checks.misfits('b', [1], 'args')).toEqual([])
  })

  it('are checked without another read, until the schemas change', async () => {
    const { checks, reads } = checksOf({ a: { type: 'array' } })
    await checks.misfits('a', [], 'args')
    await checks.misfits('a', [], 'args')
    expect(reads()).toBe(1)
    checks.forget()
    await checks.misfits('a', [], 'args')
    expect(reads()).toBe(2)
  })
})
