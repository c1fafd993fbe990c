/** POST /v1/instances: starts a deployed definition by its name. */
import type { EngineApi } from '../../engine/api.ts'
import type { DefinitionStarted, StartDefinition } from '../../engine/intake/definitions.ts'
import type { Body } from '../../http/body.ts'
import { actorOf } from '../../http/caller.ts'
import { checked } from '../../http/describe/route.ts'
import { refuseMistakes } from '../../http/mistaken.ts'
import type { Json } from '../../net/net.ts'
import { BodyNotes } from '../../notations/source/reader.ts'
import { Instance, instanceWire } from '../../wire/instance.ts'
import {
  anything,
  asked,
  entries,
  flag,
  named,
  nullable,
  object,
  optional,
  uuid,
  type Value,
} from '../../wire/schema.ts'
import { route } from '../context.ts'
import { key, name } from '../inbox/fields.ts'
import { aboutWire } from './about.ts'

const StartRequest = named(
  'StartRequest',
  asked('a start', {
    workflow: name({ description: 'Name of a deployed definition.', hint: 'the name of a deployed definition' }),
    version: optional(name('Which of its versions. Default: the latest.')),
    input: optional(anything('What it starts with; must fit its schema, if it has one.')),
    start_key: optional(key('At most one instance ever has it: a second start answers with the first.')),
    start: optional(
      flag('false: it stays idle until it is started or an event or its schedule starts it. Default: true.'),
    ),
    meta: optional(entries(anything(), { description: 'Kept with it.', hint: 'such as { "ticket": "T-17" }' })),
    correlation_id: optional(key('What its events are told under. Default: its id.')),
  }),
)

/** What a start or a retry has made. */
export const MADE = {
  id: uuid(),
  created: flag('false: the start key was taken, and this is the instance that has it.'),
}

const StartReply = named(
  'StartReply',
  object({
    ...MADE,
    definition: anything('Id, name and version of the definition it is of.'),
    instance: nullable(Instance),
  }),
)

export type StartAsked = Omit<StartDefinition, 'tenant' | 'actor'>

export const START_ROUTES = [
  route(
    'POST /v1/instances',
    {
      tag: 'Instances',
      summary: 'Start a deployed definition',
      description:
        'Written when this is answered. Its initiator is the subject of the key. A start key that is taken answers with the ' +
        'instance that has it, and 200.',
      body: {
        schema: StartRequest,
        example: { workflow: 'order', input: { order: 17 }, start_key: 'order:17' },
      },
      answers: {
        '201': { description: 'It has begun, or waits.', schema: StartReply, headers: ['Location'] },
        '200': { description: 'The key was taken.', schema: StartReply, headers: ['Location'] },
      },
      errors: ['not_found', 'conflict'],
    },
    async ({ body, caller, reply }, { engine, catalog }) => {
      const made = await catalog.start({ ...startAsked(body), tenant: caller.tenant, actor: actorOf(caller) })
      reply.code(made.created ? 201 : 200).header('location', `/v1/instances/${made.id}`)
      return startedWire(engine, made)
    },
  ),
]

/** Of a body that has not been checked. */
export function readStart(body: Body): StartAsked {
  return startAsked(checked(StartRequest, body))
}

function startAsked(body: Value<typeof StartRequest>): StartAsked {
  const { workflow, version, input, start_key: startKey, start } = body
  const meta = metaOf(body)
  return {
    name: workflow,
    version: version ?? null,
    input: (input ?? null) as Json,
    ...(startKey == null ? {} : { startKey }),
    ...(start == null ? {} : { start }),
    ...(meta === null ? {} : { meta }),
  }
}

/** What events of all its steps are told under has a name of its own, and is kept with the rest. */
function metaOf(body: Value<typeof StartRequest>): Json | null {
  const { correlation_id: correlationId } = body
  const meta = (body.meta ?? null) as { readonly [name: string]: Json } | null
  if (correlationId == null) return meta
  if (Object.hasOwn(meta ?? {}, 'correlationId')) {
    const notes = new BodyNotes()
    const twice = notes.root(body).get('meta').get('correlationId')
    twice.wrong('correlation_id says the same already', 'leave one of the two out')
    refuseMistakes(notes)
  }
  return { ...meta, correlationId }
}

/** Of which definition it is, the instance itself says: under a taken key it may be another than the one asked for. */
export async function startedWire(
  engine: EngineApi,
  { id, created }: DefinitionStarted,
): Promise<Value<typeof StartReply>> {
  const [row, about] = await Promise.all([engine.queries.instance(id), aboutWire(engine, id)])
  const meta = about.meta as { readonly definition?: unknown } | null
  return {
    id,
    created,
    definition: meta?.definition ?? null,
    instance: row === null ? null : instanceWire(row),
  }
}
