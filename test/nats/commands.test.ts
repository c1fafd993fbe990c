/** Outgoing commands: with their headers, confirmed, sent again when unanswered, by whichever engine is running. */
import { describe, expect, it } from 'vitest'
import { onBothStores } from '../sdk/stores.ts'
import { natsUrl } from '../services.ts'
import { begin, deploy, obliging, onRoad, PAIR, reaches, type Seen, until } from './stage.ts'

const HOUR = 3_600_000

describe.skipIf(natsUrl() === null)('commands on NATS', () => {
  onBothStores('relay', (stage) => {
    const road = onRoad(stage)

    it('publishes a command with the ids of its step, and records the time', async () => {
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      const { id } = await petrel.startSaga('pair', { what: 'cup' }, { tenant: 'acme' })
      const [command] = await until(() => (road.seen.length > 0 ? road.seen : null))
      const [step] = await engine.queries.sagas.steps(id)
      expect(command).toEqual({
        subject: 'alpha.v1.things.make',
        stepId: step?.id,
        instanceId: id,
        tenant: 'acme',
        body: { what: 'cup' },
      })
      const published = await until(async () => {
        const [row] = await engine.commands.ofInstance({ instanceId: id })
        return row?.publishedAt == null ? null : row
      })
      expect(published).toMatchObject({ publishes: 1, dueAt: (published.publishedAt as number) + 30_000 })
      const [shown] = await engine.queries.sagas.steps(id)
      expect(shown).toMatchObject({ state: 'in_progress', commandPublishedAt: published.publishedAt })
    })

    it('carries a saga through its steps, without a tenant where it has none', async () => {
      road.answer = obliging
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      const ids = await begin(petrel, 3)
      const rows = await reaches(engine, ids, 'completed')
      expect(rows.map((row) => [row.currentStepIndex, row.error])).toEqual([
        [2, null],
        [2, null],
        [2, null],
      ])
      expect(road.seen.every(({ tenant }) => tenant === null)).toBe(true)
      expect(repeats(road.seen)).toEqual([])
      expect(road.seen.filter(({ subject }) => subject.startsWith('beta')).map(({ body }) => body)).toEqual(
        ids.map(() => ({ of: 1 })),
      )
    })

    it('undoes on NATS as well, and awaits the answer', async () => {
      road.answer = (command) =>
        command.subject === 'beta.v1.things.make' ? { success: false, error_message: 'no more' } : obliging(command)
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      const ids = await begin(petrel)
      const [row] = await reaches(engine, ids, 'compensated')
      expect(row?.error).toContain('no more')
      expect(road.seen.map(({ subject, body }) => [subject, body])).toEqual([
        ['alpha.v1.things.make', { what: 'cup' }],
        ['beta.v1.things.make', { of: 1 }],
        ['alpha.v1.things.unmake', { made: 1 }],
      ])
    })

    it('publishes commands that another process stored and never published', async () => {
      const gone = await road.open({ transport: false })
      await deploy(gone.engine, PAIR)
      const ids = await begin(gone.petrel, 5)
      await until(async () => (await stored(gone.engine, ids)) === 5)
      await gone.close()
      expect(road.seen).toEqual([])
      await road.ready({ work: false })
      await until(() => road.seen.length >= 5)
      expect(road.seen.map(({ instanceId }) => instanceId).sort()).toEqual([...ids].sort())
    })

    it('publishes commands that another process took and never confirmed, once its hold has expired', async () => {
      const { petrel, engine } = await road.open({ transport: false })
      await deploy(engine, PAIR.replace('deadline: 10m', 'deadline: 100h'))
      const ids = await begin(petrel)
      await until(async () => (await stored(engine, ids)) === 1)
      expect(await engine.commands.take({ limit: 10, holdMs: 600_000 })).toHaveLength(1)
      const other = await road.ready({ work: false })
      // A command without a holder is published; so it has checked.
      const [free] = await begin(petrel)
      await until(() => road.seen.length === 1)
      expect(road.seen.map(({ instanceId }) => instanceId)).toEqual([free])
      await other.engine.store.moveClock(600_001)
      await until(() => road.seen.some(({ instanceId }) => instanceId === ids[0]))
    })

    it('sends an unanswered command again after its interval, under the same step id, and stops when it is answered', async () => {
      const { petrel, engine } = await road.ready()
      // No test takes this long: only the clock that the test moves makes it due.
      await deploy(engine, PAIR.replace('deadline: 10m', 'deadline: 100h').replace('resend: 30s', 'resend: 1h'))
      const [id] = await begin(petrel)
      const confirmed = (step: number, publishes: number) =>
        until(async () => {
          const row = (await engine.commands.ofInstance({ instanceId: id as string }))[step]
          return row?.publishes === publishes ? row : null
        })
      for (const turn of [1, 2, 3]) {
        const { publishedAt, dueAt } = await confirmed(0, turn)
        expect(dueAt).toBe((publishedAt as number) + HOUR)
        await until(() => road.seen.length === turn)
        if (turn < 3) await engine.store.moveClock(turn * (HOUR + 1))
      }
      expect(new Set(road.seen.map(({ stepId }) => stepId)).size).toBe(1)
      road.complete(road.seen[0] as Seen, { success: true, result_json: '{"made":1}' })
      await confirmed(1, 1)
      await engine.store.moveClock(5 * HOUR)
      await confirmed(1, 2)
      await until(() => road.seen.length === 5)
      expect(road.seen.slice(3).map(({ subject }) => subject)).toEqual(['beta.v1.things.make', 'beta.v1.things.make'])
    })

    it('publishes unanswered commands at once when an engine starts and no other runs', async () => {
      const first = await road.ready()
      await deploy(first.engine, PAIR.replace('resend: 30s', 'resend: 10m'))
      const ids = await begin(first.petrel, 3)
      await until(async () => (await published(first.engine, ids)) === 3)
      await until(() => road.seen.length === 3)
      await first.close()
      // A command that was published before is not published again while this engine runs.
      const second = await road.ready()
      await until(() => road.seen.length === 6)
      expect(repeats(road.seen).sort()).toEqual(
        road.seen
          .slice(0, 3)
          .map(({ stepId }) => stepId)
          .sort(),
      )
      await until(async () => (await publications(second.engine, ids)) === 6)
      await road.ready()
      const [marker] = await begin(second.petrel)
      await until(() => road.seen.some(({ instanceId }) => instanceId === marker))
      expect(await publications(second.engine, ids)).toBe(6)
    })

    it('also when another is listed as running, but does not answer: its machine is gone, and NATS has not detected it', async () => {
      const first = await road.ready()
      await deploy(first.engine, PAIR.replace('resend: 30s', 'resend: 10m'))
      await begin(first.petrel)
      await until(() => road.seen.length === 1)
      await first.close()
      road.nc.subscribe(road.names.engines, { callback: () => {} })
      await road.nc.flush()
      await road.ready()
      await until(() => road.seen.length === 2)
      expect(repeats(road.seen)).toEqual([road.seen[0]?.stepId])
    })

    it('fails a step whose command exceeds the size of a message, and continues with the others', async () => {
      road.answer = obliging
      const { petrel, engine } = await road.ready()
      await deploy(engine, PAIR)
      const max = road.nc.info?.max_payload as number
      const [large] = await begin(petrel, 1, { what: 'x'.repeat(max - 100) })
      const ids = await begin(petrel, 2)
      await reaches(engine, ids, 'completed')
      const [row] = await reaches(engine, [large as string], 'compensated')
      expect(row?.error).toMatch(/could not be published/)
      const [step] = await engine.queries.sagas.steps(large as string)
      expect(step).toMatchObject({ state: 'failed', commandPublishedAt: null })
    })
  })

  onBothStores('two engines', (stage) => {
    const road = onRoad(stage)

    it('publish each command once, even when one of them starts in the middle', async () => {
      const one = await road.ready()
      await deploy(one.engine, PAIR)
      const ids = await begin(one.petrel, 30)
      await until(async () => (await published(one.engine, ids)) === 30)
      const two = await road.ready()
      ids.push(...(await begin(two.petrel, 30)))
      await until(async () => (await published(one.engine, ids)) === 60)
      expect(await publications(one.engine, ids)).toBe(60)
      await until(() => road.seen.length === 60)
      expect(repeats(road.seen)).toEqual([])
    })

    it('share the replies: each is recorded once, whichever engine receives it', async () => {
      road.answer = obliging
      const [one, two] = [await road.ready(), await road.ready()]
      await deploy(one.engine, PAIR)
      const ids = [...(await begin(one.petrel, 20)), ...(await begin(two.petrel, 20))]
      await reaches(one.engine, ids, 'completed')
      await road.settled()
      expect(road.seen).toHaveLength(80)
      expect(await one.engine.commands.refused.list({ limit: 10, before: null })).toEqual([])
    })

    it('continue when one of them ends', async () => {
      const [one, two] = [await road.ready(), await road.ready()]
      await deploy(one.engine, PAIR)
      const ids = await begin(one.petrel, 10)
      await until(() => road.seen.length === 10)
      await one.close()
      road.answer = obliging
      for (const command of [...road.seen]) road.complete(command, obliging(command))
      await reaches(two.engine, ids, 'completed')
      expect(repeats(road.seen)).toEqual([])
    })
  })
})

function repeats(seen: readonly Seen[]): string[] {
  const ids = seen.map(({ stepId }) => stepId)
  return ids.filter((id, i) => ids.indexOf(id) !== i)
}

type Engine = Parameters<typeof deploy>[0]

async function stored(engine: Engine, ids: readonly string[]): Promise<number> {
  const rows = await Promise.all(ids.map((instanceId) => engine.commands.ofInstance({ instanceId })))
  return rows.flat().length
}

async function publications(engine: Engine, ids: readonly string[]): Promise<number> {
  const rows = await Promise.all(ids.map((instanceId) => engine.commands.ofInstance({ instanceId })))
  return rows.flat().reduce((sum, { publishes }) => sum + publishes, 0)
}

async function published(engine: Engine, ids: readonly string[]): Promise<number> {
  const rows = await Promise.all(ids.map((instanceId) => engine.commands.ofInstance({ instanceId })))
  return rows.flat().filter(({ publishedAt }) => publishedAt !== null).length
}
