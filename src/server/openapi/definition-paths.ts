/** /v1/definitions and /v1/events. */
import type { Operation, Paths } from './operation.ts'
import { anything, flag, list, nullable, object, ref, type Schema, text, time, uuid, whole, word } from './schema.ts'

const PAGE = [
  {
    name: 'limit',
    description: 'On a page.',
    schema: whole(undefined, { minimum: 1, maximum: 200, default: 50 }),
  },
  { name: 'before', description: '`next_before` of the page before.' },
]

function looking(summary: string, schema: string, more: Partial<Operation> = {}): Operation {
  return {
    tag: 'Definitions',
    summary,
    answers: { '200': { description: 'As it is now.', schema: ref(schema) } },
    errors: ['not_found'],
    ...more,
  }
}

const RETIRED =
  'Nothing starts it any more, by name, event or clock; instances that run go on. Deploying it again puts it back.'

export const DEFINITION_PATHS: Paths = {
  '/v1/definitions': {
    post: {
      tag: 'Definitions',
      summary: 'Deploy a definition',
      description:
        'The body is the text of the file, YAML or JSON. Its name and version stand in it; without a version it gets the ' +
        'next number. The same text again changes nothing. A version that has been started keeps its text: other text under ' +
        'it is 409. Its trigger is heard from now on.',
      query: [{ name: 'file', description: 'How to call the text where mistakes in it are told.' }],
      body: {
        schema: text('The definition.'),
        types: ['application/yaml', 'application/json', 'text/plain'],
        example: 'kind: Workflow\nmetadata: { name: order }\nspec:\n  steps:\n    - name: ship\n',
      },
      answers: {
        '201': { description: 'A new version.', schema: ref('Deployed'), headers: ['Location'] },
        '200': {
          description: 'Unchanged, replaced or back in service.',
          schema: ref('Deployed'),
          headers: ['Location'],
        },
      },
      errors: ['invalid_definition', 'conflict'],
    },
    get: looking('List definitions', 'DefinitionList', {
      description: 'The latest version of each name, those deployed last first.',
      query: [{ name: 'dialect', description: 'Only of this notation.' }, ...PAGE],
      errors: ['invalid_request'],
    }),
  },
  '/v1/definitions/{name}': {
    get: looking('Look at the latest version of a definition', 'DefinitionReply'),
    delete: looking('Retire a definition with all its versions', 'Retired', { description: RETIRED }),
  },
  '/v1/definitions/{name}/versions': {
    get: looking('List the versions of a definition', 'DefinitionList', { query: PAGE }),
  },
  '/v1/definitions/{name}/versions/{version}': {
    get: looking('Look at one version of a definition', 'DefinitionReply'),
    delete: looking('Retire one version of a definition', 'Retired', { description: RETIRED }),
  },
  '/v1/events': {
    post: {
      tag: 'Definitions',
      summary: 'Tell an event that workflows wait for',
      description:
        'Starts the latest version of every definition whose trigger names it and whose condition holds: its idle instances, ' +
        'or else a new one with the payload as input. The same id again starts nothing twice.',
      body: {
        schema: ref('EventRequest'),
        example: { type: 'order.placed', payload: { order: 17, amount: 120 }, id: 'evt-9001' },
      },
      answers: { '200': { description: 'What it started, and what it did not.', schema: ref('EventReply') } },
      errors: ['unknown_event'],
    },
  },
}

const DEFINITION: { readonly [name: string]: Schema } = {
  id: uuid(),
  name: text(),
  version: text('As its author counts, or 1, 2, 3 …'),
  number: whole('Counts the versions of a name.'),
  latest: flag('It starts when no version is named, and its trigger is heard.'),
  dialect: text('Its notation.'),
  tenant: nullable(text()),
  trigger: anything('What starts it by itself; null: nothing.'),
  net: text('Hash of the net it was compiled to.'),
  source_hash: text('SHA-256 of its text.'),
  created_at: time(),
  created_by: nullable(text()),
  used_at: nullable(time('First started then; its text stays as it is since.')),
  retired_at: nullable(time()),
}

const LOCATED = object({
  file: text('If it is another file.'),
  line: whole(),
  column: whole(),
  path: text(),
  message: text(),
  hint: nullable(text()),
})

export const DEFINITION_SCHEMAS: { readonly [name: string]: Schema } = {
  Definition: object(DEFINITION, { required: ['id', 'name', 'version', 'dialect', 'latest'] }),
  DefinitionReply: object(
    { definition: object({ ...DEFINITION, source: text('Its text.') }) },
    { required: ['definition'] },
  ),
  DefinitionList: object(
    { definitions: list(ref('Definition')), next_before: nullable(uuid()) },
    { required: ['definitions', 'next_before'] },
  ),
  Retired: object({ definitions: list(ref('Definition')) }, { required: ['definitions'] }),
  Deployed: object(
    {
      definition: ref('Definition'),
      what: word(['created', 'unchanged', 'replaced', 'restored']),
      warnings: list(LOCATED, 'Valid, but likely to cause trouble.'),
    },
    { required: ['definition', 'what', 'warnings'] },
  ),
  EventRequest: object(
    {
      type: text('What happened.'),
      payload: anything('Default: {}.'),
      id: text('Its own id, so that telling it twice starts nothing twice. Default: a new one.'),
    },
    { required: ['type'] },
  ),
  EventReply: object(
    {
      id: text(),
      started: list(
        object({ name: text(), version: text(), instance_id: uuid(), created: flag('false: it had been started.') }),
      ),
      passed: list(object({ name: text(), condition: nullable(text()), why: text('Why it did not start.') })),
    },
    { required: ['id', 'started', 'passed'] },
  ),
}
