/** Requests about sagas: status, list, retry, cancel. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { onBothStores } from '../sdk/stores.ts'
import { natsUrl } from '../services.ts'
import { begin, deploy, obliging, onRoad, PAIR, reaches, until } from './stage.ts'

const STOPPING = PAIR.replace('name: pair', 'name: careful').replace('spec:', 'spec:\n  onFailure: stop')

describe.skipIf(natsUrl() === null)('requests about sagas', () => {
  onBothStores('control', (stage) => {
    const road = onRoad(stage)

    it('status shows a saga and its steps', async () => {
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      const [id] = await begin(petrel)
      const command = await until(() => road.seen[0])
      const shown = await until(async () => {
        const answer = await road.ask('status', { workflow_instance_id: id })
        return answer.steps[0].command_published_at === null ? null : answer
      })
      expect(shown).toMatchObject({
        ok: true,
        saga: {
          id,
          type: 'pair',
          state: 'in_progress',
          current_step_index: 0,
          step_count: 2,
          request: { what: 'cup' },
        },
        steps: [
          {
            id: command.stepId,
            step_index: 0,
            name: 'first',
            state: 'in_progress',
            command: { what: 'cup' },
            response: null,
          },
        ],
      })
    })

    it('list shows pages, by state and type and tenant', async () => {
      const { petrel, engine } = await road.ready({ work: false, control: 'all' })
      await deploy(engine, PAIR)
      await deploy(engine, STOPPING)
      const ids = (await begin(petrel, 5)).reverse()
      const { id: other } = await petrel.startSaga('careful', {}, { tenant: 'acme' })
      const page = await road.ask('list', { type: 'pair', limit: 2 })
      expect(page).toMatchObject({ ok: true, sagas: [{ id: ids[0] }, { id: ids[1] }], next_after: ids[1] })
      const rest = await road.ask('list', { type: 'pair', after: page.next_after })
      expect(rest.sagas.map((row: { id: string }) => row.id)).toEqual(ids.slice(2))
      expect(rest.next_after).toBeNull()
      expect((await road.ask('list', { tenant_id: 'acme' })).sagas).toMatchObject([{ id: other, type: 'careful' }])
      expect((await road.ask('list', { state: 'completed' })).sagas).toEqual([])
      expect((await road.ask('list')).sagas).toHaveLength(6)
    })

    it('retry continues a saga that stopped, under the same step id', async () => {
      let broken = true
      road.answer = (command) =>
        command.subject === 'beta.v1.things.make' && broken
          ? { success: false, error_message: 'cold' }
          : obliging(command)
      const { petrel, engine } = await road.ready()
      await deploy(engine, STOPPING)
      const { id } = await petrel.startSaga('careful', { what: 'cup' })
      await reaches(engine, [id], 'failed')
      broken = false
      const answer = await road.ask('retry', { workflow_instance_id: id, actor: 'ada' })
      expect(answer).toMatchObject({ ok: true, saga: { id } })
      await reaches(engine, [id], 'completed')
      const second = road.seen.filter(({ subject }) => subject === 'beta.v1.things.make')
      expect(second).toHaveLength(2)
      expect(second[0]?.stepId).toBe(second[1]?.stepId)
      expect(road.seen.filter(({ subject }) => subject === 'alpha.v1.things.make')).toHaveLength(1)
    })

    it('cancel sends nothing further, awaits steps in flight, and undoes them', async () => {
      road.answer = (command) => (command.subject === 'beta.v1.things.make' ? undefined : obliging(command))
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      const [id] = await begin(petrel)
      const second = await until(() => road.seen[1])
      expect(await road.ask('cancel', { workflow_instance_id: id })).toMatchObject({ ok: true, saga: { id } })
      expect(road.seen).toHaveLength(2)
      road.complete(second, { success: true })
      const [row] = await reaches(engine, [id as string], 'compensated')
      expect(row?.error).toContain('cancel')
      expect(road.seen.map(({ subject }) => subject).slice(2)).toEqual(['alpha.v1.things.unmake'])
    })

    it('reports mistakes in a request', async () => {
      const { petrel, engine } = await road.ready({ control: 'all' })
      await deploy(engine, PAIR)
      const { id } = await petrel.startSaga('pair', {}, { tenant: 'acme' })
      road.answer = obliging
      await until(() => road.seen[0])
      const unknown = randomUUID()
      const bad: readonly [Parameters<typeof road.ask>[0], object | string | undefined, string, string][] = [
        ['status', { workflow_instance_id: unknown }, 'not_found', unknown],
        ['status', { workflow_instance_id: id, tenant_id: 'zeus' }, 'not_found', id],
        ['status', { workflow_instance_id: 'x' }, 'invalid_message', 'not a UUID'],
        ['status', undefined, 'invalid_message', 'workflow_instance_id is missing'],
        ['status', '{', 'invalid_json', 'not JSON'],
        ['list', { state: 'done' }, 'invalid_message', 'state is not one of in_progress'],
        ['list', { limit: 1000 }, 'invalid_message', 'limit'],
        ['list', { after: 5 }, 'invalid_message', 'after'],
        ['retry', { workflow_instance_id: id }, 'conflict', 'only one that failed'],
        ['retry', { workflow_instance_id: unknown }, 'not_found', unknown],
        ['cancel', { workflow_instance_id: unknown }, 'not_found', unknown],
      ]
      for (const [what, body, code, message] of bad) {
        const answer = await road.ask(what, body)
        expect(answer).toEqual({ ok: false, error: { code, message: expect.stringContaining(message) } })
      }
    })

    it('of two engines one answers', async () => {
      const one = await road.ready()
      const two = await road.ready()
      const { engine } = one
      await deploy(engine, PAIR)
      let answers = 0
      const inbox = `${road.prefix}.inbox`
      road.nc.subscribe(inbox, { callback: () => void answers++ })
      for (let i = 0; i < 10; i++) road.nc.publish(road.names.control('list'), '{}', { reply: inbox })
      await until(() => answers >= 10)
      // A reply of the other one would have been sent by then.
      await Promise.all([one.close(), two.close()])
      await road.nc.flush()
      expect(answers).toBe(10)
    })

    it('a definition of a tenant sends no commands in the name of the engine', async () => {
      const { petrel, engine } = await road.ready({ control: 'all' })
      await deploy(engine, PAIR)
      const { id } = await petrel.startSaga('pair', { what: 'cup' }, { tenant: 'victim' })
      await until(() => road.seen[0])
      for (const subject of ['workflow.v1.cancel', '$JS.API.STREAM.DELETE.PETREL_SAGA', 'alpha.v1.*.make']) {
        const program = { step: 'go', subject, resendMs: 1000, body: { workflow_instance_id: id } }
        const text = JSON.stringify({
          kind: 'Net',
          version: 1,
          name: 'orders',
          nodes: { go: { run: { type: 'saga.template', queue: 'saga', program } } },
        })
        const { start } = await readDefinition('orders.net.json', text)
        const [started] = await engine.start([{ ...start, tenant: 'evil' }])
        const run = await until(async () => (await engine.view(started?.id as string))?.runs.find((r) => r.error))
        expect([run.status, run.error]).toEqual(['failed', expect.stringContaining('is not a subject')])
        expect(await engine.commands.of({ runIds: [run.id] })).toEqual([])
      }
      expect(await engine.queries.sagas.get(id)).toMatchObject({ state: 'in_progress' })
    })

    it('reaches the sagas of a tenant by its subject, and without one only those that have none', async () => {
      const { petrel, engine } = await road.ready({ work: false })
      await deploy(engine, PAIR)
      const [free] = (await begin(petrel)) as [string]
      const { id: acme } = await petrel.startSaga('pair', {}, { tenant: 'acme' })
      const { id: zeus } = await petrel.startSaga('pair', {}, { tenant: 'zeus' })
      const listed = (answer: { readonly sagas: readonly { readonly id: string }[] }) =>
        answer.sagas.map(({ id }) => id)
      expect(listed(await road.ask('list'))).toEqual([free])
      expect(listed(await road.ask('list', { tenant_id: 'acme' }))).toEqual([])
      expect(listed(await road.ask('list', {}, 'acme'))).toEqual([acme])
      expect(listed(await road.ask('list', { tenant_id: 'zeus' }, 'acme'))).toEqual([])
      for (const what of ['status', 'retry', 'cancel'] as const) {
        const gone = { ok: false, error: { code: 'not_found', message: expect.any(String) } }
        expect(await road.ask(what, { workflow_instance_id: zeus })).toEqual(gone)
        expect(await road.ask(what, { workflow_instance_id: zeus, tenant_id: 'zeus' })).toEqual(gone)
        expect(await road.ask(what, { workflow_instance_id: zeus }, 'acme')).toEqual(gone)
        expect(await road.ask(what, { workflow_instance_id: free }, 'acme')).toEqual(gone)
      }
      expect((await engine.queries.sagas.get(zeus))?.state).toBe('in_progress')
      expect(await road.ask('cancel', { workflow_instance_id: acme }, 'acme')).toMatchObject({ ok: true })
      expect((await engine.queries.sagas.get(acme))?.state).toBe('compensated')
    })

    it('answers nothing if it is configured not to', async () => {
      await road.ready({ control: 'none' })
      await expect(road.ask('list')).rejects.toThrow(/no responders/)
      await expect(road.ask('list', {}, 'acme')).rejects.toThrow(/no responders/)
    })
  })
})
