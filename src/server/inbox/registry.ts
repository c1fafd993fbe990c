/** /v1/registry: which runtime executes a type, and whether it is enabled. */

import { RequestError } from '../../http/request-error.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { ListingParams } from '../../model/registry.ts'
import { listRegistry, putRegistryEntry, removeRegistryEntry, showRegistryEntry } from '../../operations/registry.ts'
import { RegistryList, RegistryReply, registryWire } from '../../wire/registry.ts'
import { name, runtime } from '../../wire/requests/fields.ts'
import { asked, flag, named, nullable, optional, storable, text, type Value } from '../../wire/schema.ts'
import { route } from '../context.ts'

const LONGEST_DESCRIPTION = 10_000

const RegistryRequest = named(
  'RegistryRequest',
  asked('an entry', {
    runtime: optional(
      runtime('The runtime that may take it. If absent: unchanged; a type that is not registered yet needs one.'),
    ),
    is_enabled: optional(flag('If absent: unchanged, or true.')),
    description: optional(
      nullable(
        text({
          description: 'If absent: unchanged.',
          maxLength: LONGEST_DESCRIPTION,
          is: `a string of up to ${LONGEST_DESCRIPTION} characters`,
          fits: storable,
        }),
      ),
    ),
    intent_type: optional(name('If absent: unchanged, or `workflow`.')),
  }),
)

const ENTRY = { description: 'Its current state.', schema: RegistryReply }

export const REGISTRY_ROUTES = [
  route(
    'GET /v1/registry',
    {
      tag: 'Registry',
      summary: 'List which runtime executes which type',
      does: listRegistry,
      answers: {
        '200': { description: 'By name. A type that is not registered is open to all.', schema: RegistryList },
      },
    },
    async ({ perform }) => ({ entries: (await perform(listRegistry, null)).map(registryWire) }),
  ),

  route(
    'GET /v1/registry/:name',
    {
      tag: 'Registry',
      summary: 'Get an entry',
      does: showRegistryEntry,
      answers: { '200': ENTRY },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ entry: registryWire(await perform(showRegistryEntry, params)) }),
  ),

  route(
    'PUT /v1/registry/:name',
    {
      tag: 'Registry',
      summary: 'Set which runtime executes a type, and whether it is enabled',
      does: putRegistryEntry,
      body: { schema: RegistryRequest, example: { runtime: 'python', is_enabled: true } },
      answers: { '200': ENTRY },
    },
    async ({ params: { name: workflowName }, body, perform }) => {
      const row = await perform(putRegistryEntry, { workflowName, ...listing(body) }).catch((error: unknown) =>
        Promise.reject(listingProblem(error, workflowName)),
      )
      return { entry: registryWire(row) }
    },
  ),

  route(
    'DELETE /v1/registry/:name',
    {
      tag: 'Registry',
      summary: 'Open a type to all',
      does: removeRegistryEntry,
      answers: { '200': ENTRY },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ entry: registryWire(await perform(removeRegistryEntry, params)) }),
  ),
]

/** Missing fields keep their value. */
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

/** With the names of the body. */
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
