/** /v1/schedules: rows of workflow_schedule, which submit runs by the clock. */
import type { FastifyInstance } from 'fastify'
import type { EngineApi } from '../../engine/api.ts'
import type { InboxScheduleParams } from '../../engine/time/inbox-schedules.ts'
import { type Body, bodyObject } from '../../http/body.ts'
import { onlyKnown, type Query } from '../../http/query.ts'
import { notFound } from '../../http/request-error.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { InboxScheduleRow } from '../../model/schedules.ts'
import type { Json } from '../../net/net.ts'
import type { Part } from '../../notations/source/reader.ts'
import { scheduleWire } from '../../wire/schedule.ts'
import { wireEach } from '../../wire/value.ts'
import { needName, readBody, readMaxAttempts, readName, readPriority, readType } from './fields.ts'

type ById = { Params: { readonly id: string } }

const SCHEDULED = ['type', 'payload', 'schedule', 'timezone', 'priority', 'max_attempts']

export function scheduleRoutes(app: FastifyInstance, engine: EngineApi): void {
  const { inboxSchedules: schedules } = engine

  app.post('/v1/schedules', async (request, reply) => {
    const row = await addSchedule(engine, readSchedule(bodyObject(request, { empty: 'refused' })))
    reply.code(201).header('location', `/v1/schedules/${row.id}`)
    return { schedule: scheduleWire(row) }
  })

  app.get('/v1/schedules', async (request) => {
    onlyKnown(request.query as Query, [])
    return { schedules: wireEach(engine.faults, await schedules.list(), scheduleWire) }
  })

  app.get<ById>('/v1/schedules/:id', async (request) => ({ schedule: scheduleWire(await find(request.params.id)) }))

  for (const verb of ['pause', 'resume'] as const) {
    app.post<ById>(`/v1/schedules/:id/${verb}`, async (request) => {
      readBody(bodyObject(request, { empty: 'allowed' }), [], `a ${verb}`, () => null)
      const { id } = await find(request.params.id)
      return { schedule: scheduleWire(await schedules[verb](id)) }
    })
  }

  app.delete<ById>('/v1/schedules/:id', async (request) => {
    const row = await find(request.params.id)
    if (!(await schedules.remove(row.id))) throw notFound('schedule', row.id)
    return { schedule: scheduleWire(row) }
  })

  async function find(id: string): Promise<InboxScheduleRow> {
    const row = id.includes('\0') ? null : await schedules.get(id)
    if (row === null) throw notFound('schedule', id)
    return row
  }
}

export function readSchedule(body: Body): InboxScheduleParams {
  return readBody(body, SCHEDULED, 'a schedule', (part: Part) => {
    const payload = part.get('payload')
    const timezone = readName(part.get('timezone'), 'timezone')
    const priority = readPriority(part.get('priority'))
    const maxAttempts = readMaxAttempts(part.get('max_attempts'))
    return {
      type: readType(part.get('type')),
      schedule: needName(part.get('schedule'), 'schedule', 'cron with five fields, such as 0 6 * * *'),
      ...(payload.value === undefined ? {} : { payload: payload.value as Json }),
      ...(timezone === null ? {} : { timezone }),
      ...(priority === null ? {} : { priority }),
      ...(maxAttempts === null ? {} : { maxAttempts }),
    }
  })
}

/** What the engine refuses (cron, time zone, a payload that cannot be stored) names the field of the body. */
export function addSchedule(engine: EngineApi, params: InboxScheduleParams): Promise<InboxScheduleRow> {
  return engine.inboxSchedules.add(params).catch((error: unknown) => {
    const path = error instanceof PetrelError ? error.details['path'] : undefined
    if (!(error instanceof PetrelError) || typeof path !== 'string') throw error
    throw new PetrelError(error.code, error.message, { field: path })
  })
}
