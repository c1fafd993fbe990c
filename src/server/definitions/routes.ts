/** /v1/definitions: deploy, list, look, retire. */
import type { FastifyInstance } from 'fastify'
import { type Given, pageSize, parsed, storedText, textOf } from '../../http/describe/params.ts'
import { mount } from '../../http/describe/route.ts'
import { isId } from '../../http/query.ts'
import { actorOf, type Caller } from '../../operations/caller.ts'
import type { Catalog } from '../../operations/definitions/catalog.ts'
import {
  DefinitionList,
  DefinitionReply,
  DeployReply,
  definitionWire,
  deployedWire,
  Retired,
  sourceWire,
} from '../../wire/definition.ts'
import { text, uuid, type Value } from '../../wire/schema.ts'
import { type CoreContext, route } from '../context.ts'
import { findDefinition } from './find.ts'
import { readGiven, readTexts } from './text.ts'

const PAGE = {
  limit: pageSize(),
  before: parsed('`next_before` of the page before.', uuid(), sameId, 'is what a page gave as next_before'),
}

const RETIRED =
  'Nothing starts it any more, by name, event or clock; instances that run go on. Deploying it again puts it back.'

const ONE = { description: 'As it is now.', schema: DefinitionReply }
const SEVERAL = { description: 'As they are now.', schema: DefinitionList }
const GONE = { description: 'As they are now.', schema: Retired }

/** Of texts, not of JSON. */
export const DEPLOY_ROUTES = [
  route(
    'POST /v1/definitions',
    {
      tag: 'Definitions',
      summary: 'Deploy a definition',
      description:
        'The body is the text of the file, YAML or JSON. Its name and version stand in it; without a version it gets the ' +
        'next number. The same text again changes nothing. A version that has been started keeps its text: other text under ' +
        'it is 409. Its trigger is heard from now on.',
      query: { file: textOf('How to call the text where mistakes in it are told.') },
      body: {
        schema: text('The definition.'),
        types: ['application/yaml', 'application/json', 'text/plain'],
        example: 'kind: Workflow\nmetadata: { name: order }\nspec:\n  steps:\n    - name: ship\n',
      },
      answers: {
        '201': { description: 'A new version.', schema: DeployReply, headers: ['Location'] },
        '200': { description: 'Unchanged, replaced or back in service.', schema: DeployReply, headers: ['Location'] },
      },
      errors: ['invalid_definition', 'conflict'],
    },
    async ({ query, caller, request, reply }, { catalog }) => {
      const given = { file: query.file ?? 'definition', text: readGiven(request) }
      const made = await catalog.deploy({ ...given, tenant: caller.tenant, actor: actorOf(caller) })
      const { name, version } = made.row
      reply.code(made.what === 'created' ? 201 : 200)
      reply.header('location', `/v1/definitions/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`)
      return deployedWire(made)
    },
  ),
]

/** In a room of its own: bodies are texts here. */
export function mountDeploy(app: FastifyInstance, context: CoreContext): void {
  void app.register((inner, _, done) => {
    readTexts(inner)
    mount(inner, DEPLOY_ROUTES, context)
    done()
  })
}

export const DEFINITION_ROUTES = [
  route(
    'GET /v1/definitions',
    {
      tag: 'Definitions',
      summary: 'List definitions',
      description: 'The latest version of each name, those deployed last first.',
      query: { dialect: storedText('Only of this notation.'), ...PAGE },
      answers: { '200': SEVERAL },
      errors: ['invalid_request'],
    },
    ({ query, caller }, { catalog }) => page(catalog, { ...query, tenant: caller.tenant, name: null }),
  ),

  route(
    'GET /v1/definitions/:name',
    {
      tag: 'Definitions',
      summary: 'Look at the latest version of a definition',
      answers: { '200': ONE },
      errors: ['not_found'],
    },
    async ({ params, caller: { tenant } }, { catalog }) => ({
      definition: sourceWire(await findDefinition(catalog, { tenant, name: params.name, version: null })),
    }),
  ),

  route(
    'DELETE /v1/definitions/:name',
    {
      tag: 'Definitions',
      summary: 'Retire a definition with all its versions',
      description: RETIRED,
      query: {},
      answers: { '200': GONE },
      errors: ['not_found'],
    },
    ({ params, caller }, { catalog }) => retire(catalog, caller, { name: params.name, version: null }),
  ),

  route(
    'GET /v1/definitions/:name/versions',
    {
      tag: 'Definitions',
      summary: 'List the versions of a definition',
      query: PAGE,
      answers: { '200': SEVERAL },
      errors: ['not_found'],
    },
    async ({ params, query, caller: { tenant } }, { catalog }) => {
      const { name } = await findDefinition(catalog, { tenant, name: params.name, version: null })
      return page(catalog, { ...query, dialect: null, tenant, name })
    },
  ),

  route(
    'GET /v1/definitions/:name/versions/:version',
    {
      tag: 'Definitions',
      summary: 'Look at one version of a definition',
      answers: { '200': ONE },
      errors: ['not_found'],
    },
    async ({ params: { name, version }, caller: { tenant } }, { catalog }) => ({
      definition: sourceWire(await findDefinition(catalog, { tenant, name, version })),
    }),
  ),

  route(
    'DELETE /v1/definitions/:name/versions/:version',
    {
      tag: 'Definitions',
      summary: 'Retire one version of a definition',
      description: RETIRED,
      query: {},
      answers: { '200': GONE },
      errors: ['not_found'],
    },
    ({ params: { name, version }, caller }, { catalog }) => retire(catalog, caller, { name, version }),
  ),
]

function sameId(given: string): string | null {
  return isId(given) ? given : null
}

interface PageAsked extends Given<typeof PAGE> {
  readonly tenant: string | null
  /** null: the latest of each name. */
  readonly name: string | null
  readonly dialect: string | null
}

async function page(catalog: Catalog, asked: PageAsked): Promise<Value<typeof DefinitionList>> {
  const { limit } = asked
  const rows = await catalog.list({ ...asked, limit: limit + 1 })
  const shown = rows.slice(0, limit)
  const next = rows.length > limit ? (shown.at(-1)?.id ?? null) : null
  return { definitions: shown.map(definitionWire), next_before: next }
}

async function retire(
  catalog: Catalog,
  caller: Caller,
  { name, version }: { readonly name: string; readonly version: string | null },
): Promise<Value<typeof Retired>> {
  const asked = { tenant: caller.tenant, name, version }
  await findDefinition(catalog, asked)
  const rows = await catalog.retire({ ...asked, actor: actorOf(caller) })
  return { definitions: rows.map(definitionWire) }
}
