/** GET /v1/changes: what changes, coalesced, for the tenant of the caller, and from a position on. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { EVENT_TYPES } from '../../../src/model/events/events.ts'
import { AREAS, areasOf } from '../../../src/operations/events/areas.ts'
import { keyOf } from '../keys.ts'
import { hangUp, listen } from '../ojs/listening.ts'
import { onBothStores, type Serving, until } from '../serving.ts'
import { workflow, YAML } from './stage.ts'

type Heard = Awaited<ReturnType<typeof listen>>

const instancesOf = ({ frames }: Heard): Map<string, string> =>
  new Map(frames.flatMap(({ data }) => data.instances as [string, string][]))
const areasHeard = ({ frames }: Heard): Set<string> => new Set(frames.flatMap(({ data }) => data.areas as string[]))

onBothStores('changes', (stage) => {
  let s: Serving
  let other: Serving
  beforeAll(async () => {
    s = await stage.serve()
    other = await stage.serve()
    await s.post('/v1/definitions', workflow('review', { steps: ['ask'] }), YAML)
  })
  afterEach(hangUp)

  const start = async (on: Serving, key: Record<string, string> = {}): Promise<string> =>
    (await on.post('/v1/instances', { workflow: 'review' }, key)).body.id

  /** It has its place in the feed: what happens from now on is heard. */
  const opened = async (headers: Record<string, string> = {}, on: Serving = s): Promise<Heard> => {
    const heard = await listen(on, '/v1/changes', headers)
    expect(heard.response.status).toBe(200)
    await heard.has((frames) => frames.length > 0)
    return heard
  }

  it('are the newest states and the areas concerned, by this server or another', async () => {
    const heard = await opened()
    expect(heard.frames[0]).toMatchObject({ event: 'change', data: { instances: [], more: false, areas: [] } })
    const ids = [await start(s), await start(other)]
    await s.post(`/v1/instances/${ids[0]}/cancel`)
    await until(
      async () => instancesOf(heard),
      (found) => found.get(ids[0] as string) === 'cancelled' && found.get(ids[1] as string) === 'waiting',
    )
    expect(instancesOf(heard).get(ids[0] as string)).toBe('cancelled')
    expect(instancesOf(heard).get(ids[1] as string)).toBe('waiting')
    expect(areasHeard(heard)).toEqual(new Set(['gates']))
    await s.post('/ojs/v1/queues/mail/pause')
    await until(
      async () => areasHeard(heard),
      (found) => found.has('pauses'),
    )
    expect(areasHeard(heard)).toEqual(new Set(['gates', 'queues', 'pauses']))
  })

  it('are continued from a position; from an unknown one everything may have changed', async () => {
    const first = await opened()
    const keeper = await opened()
    const id = first.frames[0]?.id as string
    first.abort()
    const started = await start(s)
    await until(
      async () => instancesOf(keeper),
      (found) => found.has(started),
    )
    const again = await opened({ 'last-event-id': id })
    expect(again.frames[0]).toMatchObject({ data: { instances: [[started, 'waiting']], more: false } })
    for (const position of ['0', '999999999999']) {
      const lost = await opened({ 'last-event-id': position })
      expect(lost.frames[0]).toMatchObject({ data: { instances: [], more: true, areas: AREAS } })
    }
  })

  it('come at most four times a second, with at most 200 instances', async () => {
    const heard = await opened()
    const began = performance.now()
    await Promise.all(Array.from({ length: 300 }, () => start(s)))
    await until(
      async () =>
        heard.frames.reduce((sum, { data }) => sum + data.instances.length, 0) +
        (heard.frames.some(({ data }) => data.more) ? 300 : 0),
      (count) => count >= 300,
    )
    const seconds = (performance.now() - began) / 1000
    expect(heard.frames.length).toBeLessThanOrEqual(2 + 4 * seconds)
    for (const { data } of heard.frames) expect(data.instances.length).toBeLessThanOrEqual(200)
  })

  it('of other tenants are not sent', async () => {
    const [acme, umbrella] = [await keyOf(s, 'ann', 'acme'), await keyOf(s, 'bob', 'umbrella')]
    for (const key of [acme, umbrella])
      await s.post('/v1/definitions', workflow('review', { steps: ['ask'] }), { ...YAML, ...key })
    const heard = await opened(acme)
    const foreign = await start(s, umbrella)
    const own = await start(s, acme)
    await until(
      async () => instancesOf(heard),
      (found) => found.has(own),
    )
    expect([instancesOf(heard).has(own), instancesOf(heard).has(foreign)]).toEqual([true, false])
    expect(heard.raw()).not.toContain(foreign)
  })

  it('read nothing while no client listens', async () => {
    hangUp()
    const counted = { feeds: 0 }
    const quiet = await stage.serve()
    const { feed } = quiet.store.read
    Object.assign(quiet.store.read, {
      feed: (params: never) => {
        counted.feeds++
        return feed.call(quiet.store.read, params)
      },
    })
    const heard = await opened({}, quiet)
    const id = await start(quiet)
    await until(
      async () => instancesOf(heard),
      (found) => found.has(id),
    )
    expect(counted.feeds).toBeGreaterThan(0)
    heard.abort()
    // The loop ends a few looks after its last client.
    let before = -1
    await until(
      async () => {
        const same = before === counted.feeds
        before = counted.feeds
        await new Promise((resolve) => setTimeout(resolve, 600))
        return same
      },
      (same) => same,
    )
    await start(quiet)
    expect(counted.feeds).toBe(before)
  })

  it.each(['x', '-1', '1.5', 'a'.repeat(10_000)])('a position that is none is refused: %#', async (position) => {
    const { status } = await s.get('/v1/changes', { 'last-event-id': position })
    expect(status).toBe(400)
  })

  it('need the scope read', async () => {
    expect((await s.get('/v1/changes', await keyOf(s, 'w', null, ['work']))).status).toBe(403)
  })
})

describe('the areas of an event', () => {
  it('each type concerns known areas, and an unknown one none', () => {
    for (const type of EVENT_TYPES) for (const area of areasOf(type)) expect(AREAS).toContain(area)
    expect([areasOf('failed'), areasOf('gate.opened'), areasOf('instance.completed'), areasOf('theirs.own')]).toEqual([
      ['runs', 'queues', 'errors'],
      ['gates'],
      [],
      [],
    ])
  })
})
