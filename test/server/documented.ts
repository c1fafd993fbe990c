/** Whether the server's replies match the OpenAPI document. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect } from 'vitest'
import { openapiDocument } from '../../src/server/openapi/document.ts'
import { routePath } from '../../src/server/openapi/operation.ts'
import type { Reply } from './serving.ts'

const document = openapiDocument('1') as any
const ajv = new Ajv2020({ strict: false, allErrors: true })
;(addFormats as unknown as (ajv: Ajv2020) => void)(ajv)
ajv.addSchema(document, 'api')

/** The path template of the document that matches a requested path. */
function documented(path: string): string {
  const bare = path.split('?', 1)[0] as string
  const found = Object.keys(document.paths)
    .filter((known) => new RegExp(`^${routePath(known).replace(/:\w+/g, '[^/]+')}$`).test(bare))
    .sort((a, b) => (a.match(/\{/g) ?? []).length - (b.match(/\{/g) ?? []).length)
  return found[0] as string
}

export function checkReply(method: string, path: string, reply: Reply): Reply {
  const operation = document.paths[documented(path)]?.[method.toLowerCase()]
  const pointer = (text: string) => text.replace(/~/g, '~0').replace(/\//g, '~1')
  const response = operation.responses[reply.status] ?? operation.responses.default
  expect([method, path, reply.status, response === undefined]).toEqual([method, path, reply.status, false])
  const base = response.$ref ?? `#/paths/${pointer(documented(path))}/${method.toLowerCase()}/responses/${reply.status}`
  const type = path.startsWith('/ojs') ? 'application/openjobspec+json' : 'application/json'
  const validate = ajv.getSchema(`api${base}/content/${pointer(type)}/schema`)
  expect([method, path, validate === undefined]).toEqual([method, path, false])
  validate?.(reply.body)
  expect([method, path, reply.status, validate?.errors ?? null]).toEqual([method, path, reply.status, null])
  return reply
}
