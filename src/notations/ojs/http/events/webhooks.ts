/**
 * /ojs/v1/webhooks: subscriptions, and the log of what was delivered. How deliveries are made is told in
 * ../../webhooks/dispatcher.ts. A key bound to a tenant has the subscriptions of its tenant, which get its events only.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { EngineApi } from '../../../../engine/api.ts'
import { bodyObject } from '../../../../http/body.ts'
import { listParam, onlyKnown, type Query } from '../../../../http/query.ts'
import { notFound, RequestError } from '../../../../http/request-error.ts'
import { newId } from '../../../../kernel/ids.ts'
import type { DeliveryRow, WebhookRow } from '../../../../model/webhooks.ts'
import type { Json } from '../../../../net/net.ts'
import { actorOf, type Caller } from '../../../../operations/caller.ts'
import { refuseMistakes } from '../../../../wire/mistaken.ts'
import { BodyNotes } from '../../../source/reader.ts'
import { timeText } from '../../project/time.ts'
import { Dispatcher } from '../../webhooks/dispatcher.ts'
import { newSecret } from '../../webhooks/signature.ts'
import { DEFAULT_ATTEMPTS } from '../../webhooks/verdict.ts'
import type { OjsContext } from '../context.ts'
import { maySee } from '../jobs/job-reply.ts'
import { PAGE_PARAMS, pageWire, readPage } from '../paging.ts'
import { DEFAULT_TIMEOUT_MS, deliveryWire, readSecret, readSettings, webhookWire } from './webhook-settings.ts'

type ById = { Params: { readonly id: string } }

const MOST = 1000
const GRACE_SECONDS = 24 * 60 * 60
const LONGEST_GRACE_SECONDS = 7 * 24 * 60 * 60
const STATES = ['pending', 'delivered', 'dead'] as const

export function webhookRoutes(app: FastifyInstance, { engine, version, logger, options }: OjsContext): void {
  const { webhooks } = engine.records
  const allowPrivate = options.allowPrivateWebhooks
  const dispatcher = new Dispatcher({ engine, version, logger, allowPrivate })
  app.addHook('onReady', async () => dispatcher.start())
  app.addHook('onClose', () => dispatcher.stop())
  app.addHook('onResponse', async ({ method }) => {
    if (method !== 'GET') dispatcher.nudge()
  })
  const admin = { config: { access: { scope: 'admin' as const } } }
  const base = '/ojs/v1/webhooks/subscriptions'

  app.post(base, admin, async (request, reply) => {
    const row = await create(engine, request, allowPrivate)
    dispatcher.look()
    reply.code(201).header('location', `${base}/${row.id}`)
    const subscription = { ...webhookWire(row), secret: row.secret }
    return { ...subscription, subscription }
  })

  app.get(base, admin, async (request) => {
    const query = request.query as Query
    onlyKnown(query, PAGE_PARAMS)
    const page = readPage(query)
    const { after } = page
    const all = await webhooks.list({ tenant: request.caller.tenant })
    const rest = (after === null ? all : all.filter((row) => row.id > after)).slice(page.offset)
    const shown = rest.slice(0, page.limit)
    const subscriptions = shown.map(webhookWire)
    const last = shown.at(-1)?.id ?? null
    const pagination = pageWire({ page, total: all.length, hasMore: rest.length > shown.length, last })
    return { subscriptions, items: subscriptions, pagination }
  })

  app.get<ById>(`${base}/:id`, admin, async (request) => both(await find(engine, request)))

  const change = async (request: FastifyRequest<ById>): Promise<object> => {
    const before = await find(engine, request)
    const notes = new BodyNotes()
    const part = notes.root(bodyObject(request, { empty: 'refused' }))
    const set = readSettings(part, { allowPrivate })
    if (part.has('secret')) part.get('secret').wrong('secret is not changed here', 'POST …/rotate-secret')
    refuseMistakes(notes)
    // What happened while it was stopped is not sent.
    const resumed = set.active === true && !before.active ? { cursor: await engine.queries.feedEnd() } : {}
    const row = await webhooks.update({ id: before.id, set: { ...set, ...resumed } })
    if (row === null) throw notFound('webhook subscription', before.id)
    dispatcher.look()
    return both(row)
  }
  app.patch<ById>(`${base}/:id`, admin, change)
  app.put<ById>(`${base}/:id`, admin, change)

  app.delete<ById>(`${base}/:id`, admin, async (request) => {
    const { id } = await find(engine, request)
    await webhooks.remove(id)
    return { deleted: true, id }
  })

  app.post<ById>(`${base}/:id/rotate-secret`, admin, async (request) => {
    const { id, secret: old } = await find(engine, request)
    const notes = new BodyNotes()
    const part = notes.root(bodyObject(request, { empty: 'allowed' }))
    const secret = readSecret(part.get('secret')) ?? newSecret()
    const grace = part.get('grace_seconds').whole('grace_seconds', { least: 0, most: LONGEST_GRACE_SECONDS })
    refuseMistakes(notes)
    const until = (await engine.queries.now()) + (grace ?? GRACE_SECONDS) * 1000
    const row = await webhooks.update({ id, set: { secret, oldSecret: old, oldSecretUntil: until } })
    if (row === null) throw notFound('webhook subscription', id)
    return { ...both(row), secret, old_secret_valid_until: timeText(until) }
  })

  app.post<ById>(`${base}/:id/test`, admin, async (request) => {
    const row = await find(engine, request)
    const id = `evt_${newId()}`
    const wire = {
      specversion: '1.0',
      id,
      type: 'webhook.test',
      source: 'ojs://petrel/webhooks/test',
      time: timeText(Date.now()),
      subject: row.id,
      data: { subscription_id: row.id },
    }
    const posted = await dispatcher.tryOut(row, { id: `del_${newId()}`, type: wire.type, body: JSON.stringify(wire) })
    const { status, error, ms } = posted
    return {
      success: status !== null && status >= 200 && status < 300,
      ...(status === null ? {} : { status_code: status }),
      ...(error === null ? {} : { error }),
      response_time_ms: ms,
    }
  })

  app.get<ById>(`${base}/:id/deliveries`, admin, async (request) => {
    const { id } = await find(engine, request)
    const query = request.query as Query
    onlyKnown(query, ['state', 'limit', 'offset', 'page', 'per_page'])
    const { limit, offset } = readPage(query)
    const states = listParam(query, 'state', STATES)
    if (states !== null && states.length > 1) throw new RequestError('invalid_request', 'state is one of them')
    const state = (states?.[0] ?? null) as DeliveryRow['state'] | null
    const rows = await webhooks.log({ webhookId: id, state, limit: limit + 1, offset })
    const shown = rows.slice(0, limit).map(deliveryWire)
    return { deliveries: shown, items: shown, pagination: { limit, offset, has_more: rows.length > limit } }
  })

  app.get<ById>('/ojs/v1/webhooks/deliveries/:id', admin, async (request) => {
    const row = await findDelivery(engine, request.params.id, request.caller)
    const delivery = { ...deliveryWire(row), event: JSON.parse(row.body) as Json }
    return { ...delivery, delivery }
  })

  app.post<ById>('/ojs/v1/webhooks/deliveries/:id/retry', admin, async (request) => {
    const { id, state } = await findDelivery(engine, request.params.id, request.caller)
    if (state === 'pending') throw new RequestError('conflict', `delivery ${id} is on its way already`)
    const row = await webhooks.again(id)
    if (row === null) throw notFound('webhook delivery', id)
    dispatcher.look()
    const delivery = deliveryWire(row)
    return { ...delivery, delivery }
  })
}

async function create(engine: EngineApi, request: FastifyRequest, allowPrivate: boolean): Promise<WebhookRow> {
  const notes = new BodyNotes()
  const part = notes.root(bodyObject(request, { empty: 'refused' }))
  const { url = '', events = [], ...given } = readSettings(part, { allowPrivate })
  for (const name of ['url', 'events']) if (!part.has(name)) part.get(name).wrong(`${name} is missing`)
  const secret = readSecret(part.get('secret')) ?? newSecret()
  refuseMistakes(notes)
  const { caller } = request
  const { queries } = engine
  const { webhooks } = engine.records
  const [existing, now, cursor] = await Promise.all([
    webhooks.list({ tenant: null }),
    engine.queries.now(),
    // It hears of what happens from now on.
    queries.feedEnd(),
  ])
  // Each tenant has its own: none can use up those of the others.
  if (existing.filter(({ tenant }) => tenant === caller.tenant).length >= MOST) {
    throw new RequestError('conflict', `there are ${MOST} subscriptions, and no more are taken`, {
      hint: 'Delete those that nobody needs, or fan out behind one receiver.',
    })
  }
  const row: WebhookRow = {
    queues: null,
    jobTypes: null,
    active: true,
    ordered: false,
    timeoutMs: DEFAULT_TIMEOUT_MS,
    maxAttempts: DEFAULT_ATTEMPTS,
    metadata: null,
    ...given,
    url,
    events,
    secret,
    oldSecret: null,
    oldSecretUntil: null,
    id: `sub_${newId()}`,
    tenant: caller.tenant,
    createdBy: actorOf(caller),
    createdAt: now,
    updatedAt: now,
    cursor,
    failures: 0,
    lastAt: null,
    lastStatus: null,
    leaseBy: null,
    leaseUntil: null,
  }
  await webhooks.add(row)
  return row
}

async function find(engine: EngineApi, request: FastifyRequest<ById>): Promise<WebhookRow> {
  const { id } = request.params
  const row = await engine.records.webhooks.find(id)
  if (row === null || !maySee(request.caller, row)) throw notFound('webhook subscription', id)
  return row
}

async function findDelivery(engine: EngineApi, id: string, caller: Caller): Promise<DeliveryRow> {
  const row = await engine.records.webhooks.delivery(id)
  const owner = row === null ? null : await engine.records.webhooks.find(row.webhookId)
  if (row === null || owner === null || !maySee(caller, owner)) throw notFound('webhook delivery', id)
  return row
}

function both(row: WebhookRow): object {
  const subscription = webhookWire(row)
  return { ...subscription, subscription }
}
