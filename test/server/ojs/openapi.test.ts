/** The document describes exactly what the server has, and is itself valid. */
import { beforeAll, describe, expect, it } from 'vitest'
import { openapiDocument } from '../../../src/server/openapi/document.ts'
import { routePath } from '../../../src/server/openapi/operation.ts'
import { onBothStores, type Serving } from '../serving.ts'

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

function operationsOf(document: any): string[] {
  return Object.entries<any>(document.paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((key) => METHODS.includes(key))
      .map((method) => `${method.toUpperCase()} ${routePath(path)}`),
  )
}

onBothStores('GET /openapi.json', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })

  it('has every route of the server, and the server has every path in it', async () => {
    const { status, body } = await s.get('/openapi.json')
    expect(status).toBe(200)
    const served = s.server.routes
      .filter(({ method }) => method !== 'HEAD')
      .map(({ method, path }) => `${method} ${path}`)
    expect(operationsOf(body).sort()).toEqual([...new Set(served)].sort())
  })

  it('is the same at /ojs/v1/openapi.json', async () => {
    const [one, other] = [await s.get('/openapi.json'), await s.get('/ojs/v1/openapi.json')]
    expect(other.body).toEqual(one.body)
    expect(one.headers.get('content-type')).toContain('application/json')
  })
})

describe('the document', () => {
  const document = openapiDocument('1') as any

  it('refers only to existing components', () => {
    const refs = JSON.stringify(document).match(/"#\/[^"]+"/g) ?? []
    expect(refs.length).toBeGreaterThan(50)
    for (const ref of new Set(refs.map((text) => JSON.parse(text) as string))) {
      const found = ref
        .slice(2)
        .split('/')
        .reduce((at: any, key) => at?.[key], document)
      expect([ref, found === undefined]).toEqual([ref, false])
    }
  })

  it('uses each of its schemas', () => {
    const used = new Set(
      [...JSON.stringify(document).matchAll(/#\/components\/schemas\/(\w+)/g)].map((found) => found[1]),
    )
    expect(Object.keys(document.components.schemas).filter((name) => !used.has(name))).toEqual([])
  })

  it('gives every operation a unique id, a summary, a described tag, and a response', () => {
    const operations = Object.values<any>(document.paths).flatMap((item) => Object.values<any>(item))
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(ids.length)
    const tags = document.tags.map(({ name }: any) => name)
    for (const operation of operations) {
      expect(operation.summary).toMatch(/^[A-Z]/)
      expect(tags).toContain(operation.tags[0])
      expect(Object.keys(operation.responses).some((status) => /^[123]/.test(status))).toBe(true)
    }
  })

  it('names the parameters of each path', () => {
    for (const [path, item] of Object.entries<any>(document.paths)) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map((found) => found[1])
      for (const operation of Object.values<any>(item)) {
        const given = (operation.parameters ?? []).filter((p: any) => p.in === 'path').map((p: any) => p.name)
        expect([path, given]).toEqual([path, named])
      }
    }
  })
})
