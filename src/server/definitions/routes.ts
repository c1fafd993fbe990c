/** /v1/definitions: deploy, list, get, retire. */
import type { FastifyInstance } from 'fastify'
import { mount } from '../../http/describe/route.ts'
import { readId } from '../../kernel/ids.ts'
import type { DefinitionHead } from '../../model/definitions.ts'
import { checkDefinition } from '../../operations/definitions/check.ts'
import {
  deployDefinition,
  listDefinitions,
  listVersions,
  retireDefinition,
  showDefinition,
} from '../../operations/definitions/definitions.ts'
import type { Page } from '../../operations/page.ts'
import {
  CheckReply,
  checkedWire,
  DefinitionList,
  DefinitionReply,
  DeployReply,
  definitionWire,
  deployedWire,
  Retired,
  sourceWire,
} from '../../wire/definition.ts'
import { pageSize, parsed, storedText, textOf, textsOf } from '../../wire/requests/params.ts'
import { text, uuid, type Value } from '../../wire/schema.ts'
import { type CoreContext, route } from '../context.ts'
import { readGiven, readTexts } from './text.ts'

const PAGE = {
  limit: pageSize(),
  before: parsed('`next_before` of the previous page.', uuid(), sameId, 'the next_before of a page'),
}

const RETIRED =
  'It can no longer be started, by name, event or schedule; running instances continue. Deploying it again restores it.'

const ONE = { description: 'Its current state.', schema: DefinitionReply }
const SEVERAL = { description: 'Their current states.', schema: DefinitionList }
const GONE = { description: 'Their current states.', schema: Retired }

/** Of texts, not of JSON. */
export const DEPLOY_ROUTES = [
  route(
    'POST /v1/definitions',
    {
      tag: 'Definitions',
      summary: 'Deploy a definition',
      does: deployDefinition,
      description:
        'The body is the text of the file, YAML or JSON. It contains its name and version; without a version it gets the ' +
        'next number. The same text again changes nothing. A version that has been started keeps its text: other text under ' +
        'it is 409. Its trigger is active from now on.',
      query: {
        file: textOf('The name of the text in error messages.'),
        tag: textsOf('Its instances have these tags, besides those in the text: `eu,billing` or repeated.'),
      },
      body: {
        schema: text('The definition.'),
        types: ['application/yaml', 'application/json', 'text/plain'],
        example: 'kind: Workflow\nmetadata: { name: order }\nspec:\n  steps:\n    - name: ship\n',
      },
      answers: {
        '201': { description: 'A new version.', schema: DeployReply, headers: ['Location'] },
        '200': { description: 'Unchanged, replaced or restored.', schema: DeployReply, headers: ['Location'] },
      },
      errors: ['invalid_definition', 'conflict'],
    },
    async ({ query, perform, request, reply }) => {
      const tags = query.tag === null ? {} : { tags: query.tag }
      const given = { file: query.file ?? 'definition', text: readGiven(request), ...tags }
      const made = await perform(deployDefinition, given)
      const { name, version } = made.row
      reply.code(made.what === 'created' ? 201 : 200)
      reply.header('location', `/v1/definitions/${encodeURIComponent(name)}/versions/${encodeURIComponent(version)}`)
      return deployedWire(made)
    },
  ),

  route(
    'POST /v1/definitions/check',
    {
      tag: 'Definitions',
      summary: 'Check a definition without deploying it',
      does: checkDefinition,
      description:
        'The body is the text of the file, as for a deploy. Everything that a deploy refuses is a problem, with its place in the ' +
        'text. Definitions that it refers to are those in service. Nothing is written.',
      query: { file: textOf('The name of the text in mistakes.') },
      body: {
        schema: text('The definition.'),
        types: ['application/yaml', 'application/json', 'text/plain'],
        example: 'kind: Workflow\nmetadata: { name: order }\nspec:\n  steps:\n    - name: ship\n',
      },
      answers: { '200': { description: 'What it is, or what is wrong.', schema: CheckReply } },
      compressed: true,
    },
    async ({ query, perform, request }) =>
      checkedWire(await perform(checkDefinition, { file: query.file ?? 'definition', text: readGiven(request) })),
  ),
]

/** In a separate scope, since bodies are texts here. */
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
      does: listDefinitions,
      description: 'The latest version of each name, most recently deployed first.',
      query: { dialect: storedText('Only of this notation.'), ...PAGE },
      answers: { '200': SEVERAL },
      errors: ['invalid_request'],
    },
    async ({ query, perform }) => pageWire(await perform(listDefinitions, query)),
  ),

  route(
    'GET /v1/definitions/:name',
    {
      tag: 'Definitions',
      summary: 'Get the latest version of a definition',
      does: showDefinition,
      answers: { '200': ONE },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({
      definition: sourceWire(await perform(showDefinition, { ...params, version: null })),
    }),
  ),

  route(
    'DELETE /v1/definitions/:name',
    {
      tag: 'Definitions',
      summary: 'Retire a definition with all its versions',
      does: retireDefinition,
      description: RETIRED,
      query: {},
      answers: { '200': GONE },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({
      definitions: (await perform(retireDefinition, { ...params, version: null })).map(definitionWire),
    }),
  ),

  route(
    'GET /v1/definitions/:name/versions',
    {
      tag: 'Definitions',
      summary: 'List the versions of a definition',
      does: listVersions,
      query: PAGE,
      answers: { '200': SEVERAL },
      errors: ['not_found'],
    },
    async ({ params, query, perform }) => pageWire(await perform(listVersions, { ...params, ...query })),
  ),

  route(
    'GET /v1/definitions/:name/versions/:version',
    {
      tag: 'Definitions',
      summary: 'Get one version of a definition',
      does: showDefinition,
      answers: { '200': ONE },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ definition: sourceWire(await perform(showDefinition, params)) }),
  ),

  route(
    'DELETE /v1/definitions/:name/versions/:version',
    {
      tag: 'Definitions',
      summary: 'Retire one version of a definition',
      does: retireDefinition,
      description: RETIRED,
      query: {},
      answers: { '200': GONE },
      errors: ['not_found'],
    },
    async ({ params, perform }) => ({ definitions: (await perform(retireDefinition, params)).map(definitionWire) }),
  ),
]

function sameId(given: string): string | null {
  return readId(given)
}

function pageWire({ rows, more }: Page<DefinitionHead>): Value<typeof DefinitionList> {
  return { definitions: rows.map(definitionWire), next_before: more ? (rows.at(-1)?.id ?? null) : null }
}
