/** Pictures of instances on both stores: timelines, markings, pages of views, and who executed. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { netHash } from '../../src/kernel/hash.ts'
import type { GateWork, Net } from '../../src/net/net.ts'
import type { Marking, NodeMark } from '../../src/views/pictures/marking.ts'
import type { Segment } from '../../src/views/pictures/segments.ts'
import type { Timeline, TimelineRow } from '../../src/views/pictures/timeline.ts'
import { workersAt } from '../../src/views/pictures/who.ts'
import { type Drive, net, node, ONCE, PLACES, run, undoBy } from './drive.ts'
import { begin, group, job, open, workflow } from './specifications/stage.ts'

const GATE: GateWork = { kind: 'gate', options: { title: 'Sure?' }, timeoutMs: null, onTimeout: 'reject' }
const TWICE = { ...ONCE, maxAttempts: 2, initialMs: 60_000, maxMs: 60_000 }
const childOf = (inner: Net) => ({ kind: 'child', net: netHash(inner), mode: 'attached', input: null }) as const

describe.each(PLACES)('pictures on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  const timeline = async (instanceId: string, page: object = {}): Promise<Timeline> =>
    (await d.engine.timeline({ instanceId, ...page })) as Timeline
  const marking = async (instanceId: string, asked: object = {}): Promise<Marking> =>
    (await d.engine.marking({ instanceId, ...asked })) as Marking
  const rowAt = async (id: string, key: string): Promise<TimelineRow> =>
    (await timeline(id)).rows.find((row) => row.node === key) as TimelineRow
  const kinds = (segments: readonly Segment[]): readonly string[] =>
    segments.map(({ waits, attempt }) => `${attempt} ${waits ?? 'runs'}`)

  it('a step that was retried: each attempt waited and ran, with its worker and its failure', async () => {
    const id = await d.start({ net: net([node('a', [], { retry: TWICE })]) })
    await d.pass(1_000)
    const first = await d.claimOne()
    await begin(d, first)
    await d.pass(2_000)
    await d.fail(first)
    expect((await rowAt(id, 'a')).segments.at(-1)).toMatchObject({ waits: 'retry', attempt: 2, to: null })
    await d.pass(60_000)
    const second = await d.claimOne()
    await begin(d, second)
    await d.pass(5_000)
    await d.succeed(second)
    const { segments, from, to } = await rowAt(id, 'a')
    expect(kinds(segments).filter((kind) => !kind.includes('start'))).toEqual([
      '1 queue',
      '1 runs',
      '2 retry',
      ...(segments.some(({ waits, attempt }) => waits === 'queue' && attempt === 2) ? ['2 queue'] : []),
      '2 runs',
    ])
    expect(segments.find(({ waits, attempt }) => waits === null && attempt === 1)).toMatchObject({
      worker: 'driver',
      error: 'boom',
    })
    covers(segments, from, to)
  })

  it('what is open has the reasons that why gives', async () => {
    const id = await d.start({ net: net([node('a', ['b']), node('b')]) })
    const row = await rowAt(id, 'a')
    expect(row).toMatchObject({ kind: 'run', to: null, segments: [{ waits: 'queue', to: null }] })
    const why = await d.engine.why({ instanceId: id })
    expect(row.kind === 'run' ? row.reasons : null).toEqual(why?.waits[0]?.reasons)
    await d.engine.cancelInstance({ id, actor: 'ann' })
    expect(await rowAt(id, 'a')).toMatchObject({ reasons: [], segments: [{ waits: 'queue' }] })
  })

  it('gates with their votes, and children that can be opened', async () => {
    const inner = net([node('x')], { name: 'inner' })
    const nodes = [node('ask', ['sub'], { work: GATE }), node('sub', [], { work: childOf(inner) })]
    const id = await d.start({ net: net(nodes), nets: [inner] })
    const [gate] = await d.store.read.openGates({ instanceId: id, limit: 1 })
    await d.pass(3_000)
    await d.engine.answerGate({ gateId: gate?.id as string, approved: true, actor: 'ann' })
    const { rows } = await timeline(id)
    expect(rows.map(({ kind, node }) => [kind, node])).toEqual([
      ['gate', 'ask'],
      ['child', 'sub'],
    ])
    expect(rows[0]).toMatchObject({
      title: 'Sure?',
      segments: [{ waits: 'gate' }],
      votes: [{ by: 'ann', approved: true }],
    })
    const child = rows[1] as TimelineRow & { readonly kind: 'child' }
    expect(child.segments).toMatchObject([{ waits: 'child', to: null }])
    expect((await timeline(child.child.id)).rows.map(({ node }) => node)).toEqual(['x'])
    await d.work()
    const ended = await rowAt(id, 'sub')
    covers(ended.segments, ended.from, ended.to)
  })

  it('deferred work waits for its completion; an undo has a row of its own', async () => {
    const nodes = [node('a', ['b'], { undo: undoBy('undo.a') }), node('b', [], { retry: ONCE })]
    const id = await d.start({ net: net(nodes, { onFailure: 'compensate' }) })
    await d.succeed(await d.claimOne())
    await d.fail(await d.claimOne())
    await d.succeed(await d.claimOne())
    expect(await d.state(id)).toBe('compensated')
    const { rows } = await timeline(id)
    expect(rows.map((row) => (row.kind === 'run' ? `${row.node} ${row.run.role}` : null))).toEqual([
      'a undo',
      'a work',
      'b work',
    ])
    for (const { segments, from, to } of rows) covers(segments, from, to)
    const later = await d.start({ net: net([node('c')]) })
    const held = await d.claimOne()
    await d.session.settle({
      delivery: held,
      reportId: 'd1',
      startedAt: Date.now(),
      outcome: { kind: 'deferred' },
      wantNext: false,
    })
    expect((await rowAt(later, 'c')).segments.at(-1)).toMatchObject({ waits: 'completion', to: null })
  })

  it('a wait has the times in which its workflow was paused', async () => {
    const id = await d.start({ net: net([node('a')]) })
    await d.pass(1_000)
    await d.engine.pauseInstance({ id, actor: 'ann', reason: null, timeouts: 'stop' })
    await d.pass(2_000)
    expect(kinds((await rowAt(id, 'a')).segments)).toEqual(['1 queue', '1 paused'])
    await d.engine.unpauseInstance({ id, actor: 'ann' })
    await d.pass(3_000)
    const held = await d.claimOne()
    await begin(d, held)
    await d.pass(1_000)
    await d.succeed(held)
    const { segments, from, to } = await rowAt(id, 'a')
    expect(kinds(segments).filter((kind) => kind !== '1 start')).toEqual(['1 queue', '1 paused', '1 queue', '1 runs'])
    const paused = segments.find(({ waits }) => waits === 'paused') as Segment
    expect((paused.to as number) - paused.from).toBeGreaterThanOrEqual(2_000)
    covers(segments, from, to)
  })

  it('pages follow one another without a row left out, whatever their size', async () => {
    const inner = net([node('x')], { name: 'inner' })
    const nodes = [
      node('start', ['ask', 'm', 'z']),
      node('ask', [], { work: GATE }),
      node('m', [], { work: childOf(inner) }),
      node('z'),
    ]
    const id = await d.start({ net: net(nodes), nets: [inner] })
    await d.succeed(await d.claimOne())
    const all = (await timeline(id)).rows.map(({ node }) => node)
    expect(all).toEqual(['ask', 'm', 'start', 'z'])
    for (const limit of [1, 2, 3, 4]) {
      const found: string[] = []
      for (let after: string | null = null, pages = 0; ; pages++) {
        const page: Timeline = await timeline(id, { after, limit })
        found.push(...page.rows.map(({ node }) => node))
        expect(pages).toBeLessThan(5)
        if (page.next === null) break
        after = page.next
      }
      expect(found).toEqual(all)
    }
    expect((await timeline(id, { node: 'z' })).rows.map(({ node }) => node)).toEqual(['z'])
    await expect(d.engine.timeline({ instanceId: id, node: 'y' })).rejects.toMatchObject({ code: 'not_found' })
    await expect(d.engine.timeline({ instanceId: id, after: '???' })).rejects.toMatchObject({ code: 'invalid_request' })
    expect(await d.engine.timeline({ instanceId: '00000000-0000-7000-8000-000000000000' })).toBeNull()
  })

  it('the items of a list are counts', async () => {
    const id = await workflow(d, group(...Array.from({ length: 6 }, (_, i) => job(`t${i}`))))
    const items = async () => (await marking(id)).nodes.find(({ items }) => items !== null)
    expect(await items()).toMatchObject({
      state: 'running',
      items: { pending: 6, running: 0, completed: 0, failed: 0 },
    })
    const [one, two, ...rest] = await d.claim()
    await d.succeed(one as never)
    await d.fail(two as never)
    expect(await items()).toMatchObject({ items: { pending: 0, running: 4, completed: 1, failed: 1, exact: true } })
    for (const x of rest) await d.succeed(x)
    expect(await items()).toMatchObject({ items: { pending: 0, running: 0, completed: 5, failed: 1 } })
  })

  it('changes put over an earlier marking give the current one, after every step of a workflow', async () => {
    const inner = net([node('x', ['y'], { retry: TWICE }), node('y')], { name: 'inner' })
    const pass = { kind: 'pass' } as const
    const nodes = [
      node('a', ['b', 'c']),
      node('b', ['join'], { retry: TWICE }),
      node('c', ['join'], { work: childOf(inner) }),
      node('join', ['p'], { join: 'count', work: pass }),
      node('p', ['ask'], { work: pass }),
      node('ask', ['list'], { work: GATE }),
      node('list', ['end'], {
        work: { kind: 'each', items: '[1, 2, 3]', body: run('item'), maxInFlight: 2, failFast: false },
      }),
      node('end', [], { undo: undoBy('undo.end') }),
    ]
    const id = await d.start({ net: net(nodes), nets: [inner] })
    const picture = new Map<string, unknown>()
    let seq = 0
    const follow = async (): Promise<void> => {
      const full = await marking(id)
      if (picture.size === 0) for (const mark of full.nodes) picture.set(mark.node.key, plain(mark))
      const changes = await marking(id, { after: seq })
      expect(changes.more).toBe(false)
      for (const mark of changes.nodes) picture.set(mark.node.key, plain(mark))
      seq = changes.seq
      expect([...picture.values()]).toEqual(full.nodes.map(plain))
    }
    await follow()
    let failed = false
    for (let steps = 0; (await d.state(id)) !== 'completed'; steps++) {
      expect(steps).toBeLessThan(40)
      for (const gate of await d.store.read.openGates({ instanceId: id, limit: 1 })) {
        await d.engine.answerGate({ gateId: gate.id, approved: true, actor: 'ann' })
        await follow()
      }
      const [held] = await d.claim(1)
      if (held === undefined) {
        await d.pass(60_000)
        continue
      }
      await follow()
      if (held.node === 'b' && !failed) {
        failed = true
        await d.fail(held)
      } else await d.succeed(held)
      await follow()
    }
    expect([...picture.values()].map((mark) => (mark as NodeMark).state)).toEqual(nodes.map(() => 'completed'))
  })

  it('a complete marking has pages in the order of the net; changes come in portions', async () => {
    const nodes = Array.from({ length: 5 }, (_, i) => node(`n${i}`, i < 4 ? [`n${i + 1}`] : []))
    const id = await d.start({ net: net(nodes) })
    const first = await marking(id, { limit: 2 })
    expect([first.nodes.map(({ node }) => node.key), first.next, first.total]).toEqual([['n0', 'n1'], 'n1', 5])
    const last = await marking(id, { limit: 3, from: 'n1' })
    expect([last.nodes.map(({ node }) => node.key), last.next]).toEqual([['n2', 'n3', 'n4'], null])
    await expect(d.engine.marking({ instanceId: id, from: 'n9' })).rejects.toMatchObject({ code: 'not_found' })
    await d.work()
    const changes = await marking(id, { after: first.seq })
    expect(changes.nodes.map(({ state }) => state)).toEqual(nodes.map(() => 'completed'))
    expect((await marking(id, { after: changes.seq })).nodes).toEqual([])
  })

  it('a view has pages of runs and children; a page is in the order of creation', async () => {
    const inner = net([node('x')], { name: 'inner' })
    const nodes = [
      node('z', ['a', 'm', 'k']),
      node('a'),
      node('m', [], { work: childOf(inner) }),
      node('k', [], { work: childOf(inner) }),
    ]
    const id = await d.start({ net: net(nodes), nets: [inner] })
    await d.succeed(await d.claimOne())
    const whole = await d.engine.view(id)
    expect(whole?.runs.map(({ node }) => node)).toEqual(['z', 'a'])
    expect(whole?.next).toBeNull()
    const first = await d.engine.view(id, { after: null, limit: 1 })
    expect([first?.runs.map(({ node }) => node), first?.children.map(({ parentNode }) => parentNode)]).toEqual([
      ['a'],
      ['k'],
    ])
    const second = await d.engine.view(id, { after: first?.next as string, limit: 1 })
    expect([second?.runs.map(({ node }) => node), second?.children.map(({ parentNode }) => parentNode)]).toEqual([
      ['z'],
      ['m'],
    ])
    expect(second?.next).toBeNull()
  })

  it('events name the worker that executed, also where another event recorded its lease', async () => {
    const id = await d.start({ net: net([node('a', ['b']), node('b')]) })
    d.room = 1
    const { next } = (await d.succeed(await d.claimOne(), null, true)) as {
      readonly next: Parameters<Drive['succeed']>[0] | null
    }
    await d.succeed(next ?? d.delivered[0] ?? (await d.claimOne()))
    const instance = await d.store.read.instance(id)
    const events = await d.store.read.instanceEvents({ instanceId: id, afterSeq: 0, limit: 100 })
    const workers = await workersAt(d.store.read, instance as never, events)
    const named = events.filter(({ type }) => type === 'succeeded').map((event) => [event.node, workers.get(event.id)])
    expect(named).toEqual([
      ['a', 'driver'],
      ['b', 'driver'],
    ])
    expect(events.filter(({ type }) => type.startsWith('instance.')).every(({ id }) => !workers.has(id))).toBe(true)
  })
})

/** Without gaps, from the creation to the end. */
function covers(segments: readonly Segment[], from: number, to: number | null): void {
  if (from === to) return expect(segments).toEqual([])
  expect([segments[0]?.from, segments.at(-1)?.to]).toEqual([from, to])
  for (const [at, segment] of segments.entries()) if (at > 0) expect(segment.from).toBe(segments[at - 1]?.to)
}

function plain({ node, state, attempts, startedAt, endedAt, items }: NodeMark): object {
  return { key: node.key, state, attempts, startedAt, endedAt, items }
}
