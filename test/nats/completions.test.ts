/** Incoming completions: recorded once, or rejected where an operator sees it; invalid ones delay no others. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { EngineApi } from '../../src/engine/api.ts'
import { publishStepCompletion } from '../../src/nats.ts'
import { takeCompletion } from '../../src/notations/saga/nats/completions.ts'
import { Operations } from '../../src/operations/operation.ts'
import { onBothStores } from '../sdk/stores.ts'
import { natsUrl } from '../services.ts'
import { begin, deploy, obliging, onRoad, PAIR, reaches, refused, type Seen, until } from './stage.ts'

describe.skipIf(natsUrl() === null)('completions on NATS', () => {
  onBothStores('recorded', (stage) => {
    const road = onRoad(stage)

    it('stores the reply of the service, parsed', async () => {
      road.answer = ({ subject }) => ({
        success: true,
        result_json: subject.startsWith('alpha') ? '{"made": 7, "parts": [1, 2]}' : { as: 'an object' },
        error_message: '',
      })
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      const [id] = await begin(petrel)
      await reaches(engine, [id as string], 'completed')
      const steps = await engine.queries.sagas.steps(id as string)
      expect(steps.map((step) => JSON.parse(step.responseJson as string))).toEqual([
        { made: 7, parts: [1, 2] },
        { as: 'an object' },
      ])
      expect(road.seen[1]?.body).toEqual({ of: 7 })
    })

    it('records a failure with its message', async () => {
      road.answer = () => ({ success: false, result_json: '', error_message: 'the "kiln" is\ncold' })
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      const ids = await begin(petrel)
      const [row] = await reaches(engine, ids, 'compensated')
      expect(row?.error).toContain('the "kiln" is\ncold')
      expect((await engine.queries.sagas.steps(ids[0] as string))[0]).toMatchObject({ state: 'failed' })
    })

    it('accepts the outcomes of three kinds, and stores the log of the step', async () => {
      const log = [
        { level: 'info', message: 'began' },
        { level: 'warn', message: 'thin', context: { mm: 2 } },
      ]
      road.answer = ({ subject }) => {
        if (subject === 'alpha.v1.things.make')
          return { outcome: 'completed_with_warnings', result_json: '{"made":1}', log }
        if (subject === 'beta.v1.things.make') return { outcome: 'failed', success: false, error_message: 'broke', log }
        return { outcome: 'completed' }
      }
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      const ids = await begin(petrel)
      // A step that completed with warnings is undone like any other.
      await reaches(engine, ids, 'compensated')
      expect(road.seen.at(-1)).toMatchObject({ subject: 'alpha.v1.things.unmake', body: { made: 1 } })
      const notes = await notesOf(engine, ids[0] as string)
      expect(notes).toEqual([[{ outcome: 'completed_with_warnings' }, ...log], log])
    })

    it('accepts them from publishStepCompletion', async () => {
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      const ids = await begin(petrel)
      for (const count of [1, 2]) {
        await until(() => road.seen.length === count)
        const { stepId, instanceId } = road.seen.at(-1) as Seen
        await publishStepCompletion(road.nc, { stepId, instanceId, result: { made: 3 } }, { prefix: road.prefix })
      }
      await reaches(engine, ids, 'completed')
    })

    it('accepts ids in capitals, as some languages print them', async () => {
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      await begin(petrel)
      const [{ stepId, instanceId }] = (await until(() => (road.seen.length > 0 ? road.seen : null))) as [Seen]
      road.complete({ stepId: stepId.toUpperCase(), instanceId: instanceId.toUpperCase() })
      await until(() => road.seen.length === 2)
      expect(await refused(engine)).toEqual([])
    })
  })

  onBothStores('refused', (stage) => {
    const road = onRoad(stage)

    it('records unreadable and misplaced replies, acknowledges them, and delays none', async () => {
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      const [mine, other] = await begin(petrel, 2)
      await until(() => road.seen.length === 2)
      const [first] = road.seen.filter(({ instanceId }) => instanceId === mine) as [Seen]
      const ids = { workflow_instance_id: first.instanceId, step_id: first.stepId }
      const unknown = randomUUID()
      const deep = `${'['.repeat(5000)}${']'.repeat(5000)}`
      const bad: readonly [string, string, object | string | Uint8Array][] = [
        ['invalid_json', 'it is not JSON', '{"workflow_instance_id":'],
        ['invalid_json', 'not UTF-8', new Uint8Array([0xff, 0xfe, 0x00])],
        ['invalid_json', 'nested more than', `{"result_json":${deep}}`],
        ['invalid_message', 'a list, not an object', '[1]'],
        ['invalid_message', 'null, not an object', 'null'],
        ['invalid_message', 'workflow_instance_id is missing', { step_id: first.stepId, success: true }],
        ['invalid_message', 'step_id is missing', { workflow_instance_id: mine, success: true }],
        ['invalid_message', 'step_id is not a UUID', { ...ids, step_id: "1'; DROP TABLE", success: true }],
        ['invalid_message', 'step_id is a number, not a string', { ...ids, step_id: 7, success: true }],
        ['invalid_message', 'success is missing', ids],
        ['invalid_message', 'success is a string', { ...ids, success: 'true' }],
        ['invalid_message', 'outcome is not one of', { ...ids, outcome: 'done' }],
        ['invalid_message', 'outcome is failed, but success is true', { ...ids, success: true, outcome: 'failed' }],
        ['invalid_message', 'error_message is an object', { ...ids, success: false, error_message: {} }],
        ['invalid_message', 'log is a string', { ...ids, success: true, log: 'all well' }],
        ['invalid_message', 'level is not one of', { ...ids, success: true, log: [{ level: 'loud', message: '!' }] }],
        ['invalid_json', 'result_json is not JSON', { ...ids, success: true, result_json: 'ok' }],
        ['invalid_json', 'result_json is nested', { ...ids, success: true, result_json: deep }],
        ['unstorable', 'NUL', { ...ids, success: true, result_json: '{"a":"\\u0000"}' }],
        ['not_found', unknown, { ...ids, step_id: unknown, success: true }],
        ['mismatch', '', { ...ids, workflow_instance_id: other, success: true }],
        ['mismatch', '', { ...ids, workflow_instance_id: unknown, success: true }],
      ]
      for (const [, , body] of bad) road.tell(body)
      road.answer = obliging
      road.complete(road.seen.find(({ instanceId }) => instanceId === other) as Seen, { success: true })
      await reaches(engine, [other as string], 'completed')
      await road.settled()
      const rows = await refused(engine)
      const expected = bad.map(([code, message]) => ({ code, message: expect.stringContaining(message) as string }))
      expect(rows.map(({ code, message }) => ({ code, message }))).toHaveLength(bad.length)
      for (const one of expected) expect(rows).toContainEqual(expect.objectContaining(one))
      expect(rows.every(({ subject }) => subject === road.names.completed)).toBe(true)
      expect(rows.find(({ code }) => code === 'not_found')).toMatchObject({ instanceId: mine, stepId: unknown })
      // The step is not affected.
      expect(await engine.queries.sagas.get(mine as string)).toMatchObject({
        state: 'in_progress',
        currentStepIndex: 0,
      })
      road.complete(first, obliging(first))
      await reaches(engine, [mine as string], 'completed')
    })

    it('records a message that is too large, with its beginning', async () => {
      const { petrel, engine } = await road.ready({ maxBytes: 100_000 })
      await deploy(engine, PAIR)
      await begin(petrel)
      const [{ instanceId, stepId }] = (await until(() => (road.seen.length > 0 ? road.seen : null))) as [Seen]
      road.complete({ instanceId, stepId }, { success: true, result_json: JSON.stringify('y'.repeat(100_000)) })
      const [row] = await until(async () => {
        const rows = await refused(engine)
        return rows.length > 0 ? rows : null
      })
      expect(row).toMatchObject({ code: 'too_large' })
      expect(row?.body.length).toBe(4096)
      expect(row?.body).toContain(stepId)
      await road.settled()
    })

    it('records duplicates and the first one, and writes the history', async () => {
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      const [id] = await begin(petrel)
      const [first] = (await until(() => (road.seen.length > 0 ? road.seen : null))) as [Seen]
      road.complete(first, { success: true, result_json: '{"made":1}' })
      await until(() => road.seen.length === 2)
      for (const made of [2, 3]) road.complete(first, { success: true, result_json: JSON.stringify({ made }) })
      road.complete(first, { success: false, error_message: 'changed my mind' })
      await until(async () => (await refused(engine)).length === 3)
      await road.settled()
      expect((await refused(engine)).map(({ code, instanceId }) => [code, instanceId])).toEqual(
        Array.from({ length: 3 }, () => ['duplicate', id]),
      )
      const [step] = await engine.queries.sagas.steps(id as string)
      expect(step?.state).toBe('completed')
      expect(JSON.parse(step?.responseJson as string)).toEqual({ made: 1 })
      expect(await eventsOf(engine, id as string, 'completion.refused')).toHaveLength(3)
      expect(road.seen).toHaveLength(2)
    })

    it('records a reply that comes after its deadline as late', async () => {
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      const [id] = await begin(petrel)
      const [first] = (await until(() => (road.seen.length > 0 ? road.seen : null))) as [Seen]
      await engine.store.moveClock(11 * 60_000)
      await reaches(engine, [id as string], 'failed')
      road.complete(first, obliging(first))
      const [row] = await until(async () => {
        const rows = await refused(engine)
        return rows.length > 0 ? rows : null
      })
      expect(row).toMatchObject({ code: 'late', stepId: first.stepId, instanceId: id })
      await road.settled()
      expect((await engine.queries.sagas.get(id as string))?.state).toBe('failed')
    })

    it('gives up a reply that stays too early, where an operator sees it', async () => {
      const { petrel, engine } = await road.ready({ work: false })
      await deploy(engine, PAIR)
      const [id] = await begin(petrel)
      const [run] = (await engine.view(id as string))?.runs ?? []
      const body = { workflow_instance_id: id, step_id: run?.id, success: true }
      const data = new TextEncoder().encode(JSON.stringify(body))
      const deliver = (deliveries: number) =>
        takeCompletion(
          { engine, operations: new Operations({ engine, logger: null }), logger: null, maxBytes: 1000 },
          { subject: road.names.completed, data, deliveries, header: () => null },
        )
      expect(await deliver(1)).toEqual({ againInMs: 500 })
      expect(await deliver(19)).toEqual({ againInMs: 10_000 })
      expect(await refused(engine)).toEqual([])
      expect(await deliver(20)).toBe('done')
      expect(await refused(engine)).toMatchObject([{ code: 'early', stepId: run?.id, instanceId: id }])
    })

    it('lets a reply that came too early be redelivered', async () => {
      // No process builds commands yet, so the run is not deferred.
      const { petrel, engine } = await road.ready({ work: false })
      await deploy(engine, PAIR)
      const [id] = await begin(petrel)
      const [run] = await until(async () => {
        const view = await engine.view(id as string)
        return view?.runs.length ? view.runs : null
      })
      road.complete(
        { stepId: run?.id as string, instanceId: id as string },
        { success: true, result_json: '{"made":9}' },
      )
      await new Promise((resolve) => setTimeout(resolve, 700))
      expect(await refused(engine)).toEqual([])
      await road.ready()
      const second = await until(() => road.seen.find(({ subject }) => subject === 'beta.v1.things.make'))
      expect(second.body).toEqual({ of: 9 })
      await road.settled()
      expect(await refused(engine)).toEqual([])
    })
  })
})

async function eventsOf(engine: EngineApi, instanceId: string, type: string) {
  const events = await engine.queries.instanceEvents({ instanceId, afterSeq: 0, limit: 1000 })
  return events.filter((event) => event.type === type)
}

/** Of the events that ended runs, in order. */
async function notesOf(engine: EngineApi, instanceId: string): Promise<unknown[]> {
  const events = await engine.queries.instanceEvents({ instanceId, afterSeq: 0, limit: 1000 })
  return events.flatMap(({ data }) => {
    const recorded = data === null ? null : JSON.parse(data)
    return recorded?.notes === undefined ? [] : [recorded.notes]
  })
}
