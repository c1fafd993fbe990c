/** /v1/registry: which runtime executes a type, and whether it is enabled. */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import { bodyObject } from '../../http/body.ts'
import { actorOf } from '../../http/caller.ts'
import { onlyKnown, type Query } from '../../http/query.ts'
import { notFound, RequestError } from '../../http/request-error.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { ListingParams } from '../../model/registry.ts'
import { kindOf, type Part } from '../../notations/source/reader.ts'
import { registryWire } from '../../wire/registry.ts'
import { readBody, readName, readRuntime } from './fields.ts'

type ByName = { Params: { readonly name: string } }

const LISTED = ['runtime', 'is_enabled', 'description', 'intent_type']
const LONGEST_DESCRIPTION = 10_000

export function registryRoutes(app: FastifyInstance, engine: EngineApi): void {
  const { registry } = engine

  app.get('/v1/registry', async (request) => {
    onlyKnown(request.query as Query, [])
    return { entries: (await registry.list()).map(registryWire) }
  })

  app.get<ByName>('/v1/registry/:name', async (request) => {
    const row = await registry.get(request.params.name)
    if (row === null) throw unlisted(request.params.name)
    return { entry: registryWire(row) }
  })

  app.put<ByName>('/v1/registry/:name', async (request) => {
    const { name } = request.params
    const asked = readBody(bodyObject(request, { empty: 'refused' }), LISTED, 'an entry', readListing)
    const params = { workflowName: name, ...asked, actor: actorOf(request.caller) }
    const row = await registry.put(params).catch((error: unknown) => Promise.reject(listingProblem(error, name)))
    return { entry: registryWire(row) }
  })

  app.delete<ByName>('/v1/registry/:name', async (request) => {
    const { name } = request.params
    const row = await registry.get(name)
    if (row === null || !(await registry.remove(name, actorOf(request.caller)))) throw unlisted(name)
    return { entry: registryWire(row) }
  })
}

/** What is left out stays as it is, so that nobody enables a type by saying who executes it. */
function readListing(part: Part): Omit<ListingParams, 'workflowName'> {
  const runtime = readRuntime(part.get('runtime'))
  const isEnabled = part.get('is_enabled').flag('is_enabled')
  const intentType = readName(part.get('intent_type'), 'intent_type')
  return {
    ...(runtime === null ? {} : { runtime }),
    ...(isEnabled === null ? {} : { isEnabled }),
    ...(intentType === null ? {} : { intentType }),
    ...(part.has('description') ? { description: readDescription(part.get('description')) } : {}),
  }
}

function readDescription(part: Part): string | null {
  const { value } = part
  if (value === null || value === '') return null
  if (typeof value === 'string' && value.length <= LONGEST_DESCRIPTION && value.isWellFormed() && !value.includes('\0'))
    return value
  part.wrong(`description is a text of up to ${LONGEST_DESCRIPTION} characters, this is ${kindOf(value)}`)
  return null
}

const FIELDS: { readonly [path: string]: string } = {
  workflowName: 'name',
  isEnabled: 'is_enabled',
  intentType: 'intent_type',
}

/** In the words of the body. */
function listingProblem(error: unknown, name: string): unknown {
  if (!(error instanceof PetrelError)) return error
  if (error.code === 'not_found') {
    return new RequestError('invalid_request', `runtime: is missing, and ${name} is not listed yet`, {
      details: { field: 'runtime' },
      hint: 'Say which workers execute it, such as { "runtime": "python" }.',
    })
  }
  const { path, problem } = error.details
  if (path === undefined || problem === undefined) return error
  const field = FIELDS[path] ?? path
  return new PetrelError(error.code, `${field}: ${problem}`, { field })
}

function unlisted(name: string): RequestError {
  return notFound('registry entry', name, 'A type that is not listed is open to all workers.')
}
