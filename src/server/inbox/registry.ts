/** /v1/registry: which runtime executes a type, and whether it is enabled. */

import { notFound, RequestError } from '../../http/request-error.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { ListingParams } from '../../model/registry.ts'
import { actorOf } from '../../operations/caller.ts'
import { RegistryList, RegistryReply, registryWire } from '../../wire/registry.ts'
import { name, runtime } from '../../wire/requests/fields.ts'
import { asked, flag, named, nullable, optional, storable, text, type Value } from '../../wire/schema.ts'
import { route } from '../context.ts'

const LONGEST_DESCRIPTION = 10_000

const RegistryRequest = named(
  'RegistryRequest',
  asked('an entry', {
    runtime: optional(
      runtime('Which workers may take it. Left out: as it was; a type that is not listed yet needs one.'),
    ),
    is_enabled: optional(flag('Left out: as it was, or true.')),
    description: optional(
      nullable(
        text({
          description: 'Left out: as it was.',
          maxLength: LONGEST_DESCRIPTION,
          is: `a text of up to ${LONGEST_DESCRIPTION} characters`,
          fits: storable,
        }),
      ),
    ),
    intent_type: optional(name('Left out: as it was, or `workflow`.')),
  }),
)

const ENTRY = { description: 'As it is now.', schema: RegistryReply }

export const REGISTRY_ROUTES = [
  route(
    'GET /v1/registry',
    {
      tag: 'Registry',
      summary: 'List which runtime executes which type',
      answers: { '200': { description: 'By name. What is not listed is open to all.', schema: RegistryList } },
    },
    async (_, { engine }) => ({ entries: (await engine.registry.list()).map(registryWire) }),
  ),

  route(
    'GET /v1/registry/:name',
    { tag: 'Registry', summary: 'Look at an entry', answers: { '200': ENTRY }, errors: ['not_found'] },
    async ({ params }, { engine }) => {
      const row = await engine.registry.get(params.name)
      if (row === null) throw unlisted(params.name)
      return { entry: registryWire(row) }
    },
  ),

  route(
    'PUT /v1/registry/:name',
    {
      tag: 'Registry',
      summary: 'Say which runtime executes a type, and whether it is enabled',
      body: { schema: RegistryRequest, example: { runtime: 'python', is_enabled: true } },
      answers: { '200': ENTRY },
    },
    async ({ params, body, caller }, { engine }) => {
      const asked = { workflowName: params.name, ...listing(body), actor: actorOf(caller) }
      const row = await engine.registry
        .put(asked)
        .catch((error: unknown) => Promise.reject(listingProblem(error, params.name)))
      return { entry: registryWire(row) }
    },
  ),

  route(
    'DELETE /v1/registry/:name',
    { tag: 'Registry', summary: 'Open a type to all', answers: { '200': ENTRY }, errors: ['not_found'] },
    async ({ params, caller }, { engine: { registry } }) => {
      const row = await registry.get(params.name)
      if (row === null || !(await registry.remove(params.name, actorOf(caller)))) throw unlisted(params.name)
      return { entry: registryWire(row) }
    },
  ),
]

/** What is left out stays as it is, so that nobody enables a type by saying who executes it. */
function listing(body: Value<typeof RegistryRequest>): Omit<ListingParams, 'workflowName'> {
  const { runtime: language, is_enabled: isEnabled, intent_type: intentType, description } = body
  return {
    ...(language == null ? {} : { runtime: language }),
    ...(isEnabled == null ? {} : { isEnabled }),
    ...(intentType == null ? {} : { intentType }),
    ...(description === undefined ? {} : { description: description === '' ? null : description }),
  }
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
