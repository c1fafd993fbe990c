/** The client that is derived from the descriptions of routes, on a real server. */
import { beforeAll, describe, expect, it } from 'vitest'
import { AnswerError, type Client, clientOf } from '../../src/http/describe/client.ts'
import type { CORE_ROUTES } from '../../src/server/routes.ts'
import { onBothStores } from './serving.ts'

type Api = Client<(typeof CORE_ROUTES)[number]>

onBothStores('a typed client of /v1', (stage) => {
  let api: Api
  beforeAll(async () => {
    const { server } = await stage.serve()
    api = clientOf<typeof CORE_ROUTES>(server.url)
  })

  it('submits, claims and completes a run', async () => {
    const made = await api('POST /v1/runs', { body: { type: 'typed.a.v1', payload: { order: 7 } } })
    if ('debounced' in made) throw new Error('it was not debounced')
    const { id, created } = made
    expect(created).toBe(true)
    const { runs } = await api('POST /v1/runs/claim', { body: { worker_id: 'w', types: ['typed.a.v1'] } })
    const [claimed] = runs
    expect([claimed?.id, claimed?.payload, claimed?.status]).toEqual([id, { order: 7 }, 'leased'])
    const report = { worker_id: 'w', epoch: claimed?.epoch ?? -1, result: 'done' }
    const { run } = await api('POST /v1/runs/:id/complete', { params: { id }, body: report })
    expect(run.status).toBe('succeeded')
    expect((await api('GET /v1/runs/:id', { params: { id } })).run.result).toBe('done')
  })

  it('takes parameters of the query, also lists', async () => {
    for (const type of ['typed.b.v1', 'typed.c.v1']) await api('POST /v1/runs', { body: { type, payload: {} } })
    const query = { type: 'typed.b.v1', status: ['pending', 'leased'], limit: 5 }
    const { runs, next_before: next } = await api('GET /v1/runs', { query })
    expect([runs.length, next]).toEqual([1, null])
    expect((await api('GET /v1/schedules')).schedules).toEqual([])
  })

  it('throws what the server answers with, and encodes what is in a path', async () => {
    const asked = api('GET /v1/runs/:id', { params: { id: '../x y' } })
    const error = await asked.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(AnswerError)
    expect(error).toMatchObject({ status: 404, code: 'not_found', message: 'there is no run ../x y' })
  })
})

describe('the types of a client', () => {
  it('refuse what a route does not take or answer', () => {
    const wrong = async (api: Api): Promise<void> => {
      // @ts-expect-error: no such route
      await api('GET /v1/nothing')
      // @ts-expect-error: the path has a parameter
      await api('GET /v1/runs/:id')
      // @ts-expect-error: another parameter
      await api('GET /v1/runs/:id', { params: { name: 'x' } })
      // @ts-expect-error: the body needs a type
      await api('POST /v1/runs', { body: { payload: {} } })
      // @ts-expect-error: no such parameter of the query
      await api('GET /v1/runs', { query: { typ: 'a' } })
      const { run } = await api('GET /v1/runs/:id', { params: { id: 'x' } })
      // @ts-expect-error: no such status
      run.status satisfies 'done'
    }
    expect(wrong).toBeTypeOf('function')
  })
})
