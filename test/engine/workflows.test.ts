import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Drive, net, node, ONCE, PLACES, run, undoBy } from './drive.ts'

describe.each(PLACES)('workflows on $name', (place) => {
  let d: Drive
  beforeEach(async () => {
    d = await Drive.open(place)
  })
  afterEach(async () => {
    expect(await d.doctor()).toEqual([])
    await d.close()
  })

  it('runs a chain step by step and keeps every result', async () => {
    const id = await d.start({
      net: net([node('a', ['b']), node('b', ['c']), node('c')]),
      literals: { a: { args: [1] } },
    })
    const first = await d.claimOne()
    expect(first).toMatchObject({ type: 'a', node: 'a', payload: '[1]', attempt: 1 })
    expect(await d.claim()).toEqual([])
    await d.succeed(first, { x: 1 })
    expect(await d.work((w) => ({ did: w.node }))).toEqual(['b', 'c'])
    expect(await d.state(id)).toBe('completed')
    expect(await d.results(id)).toEqual({ a: { x: 1 }, b: { did: 'b' }, c: { did: 'c' } })
  })

  it('hands the next step over with the reply, including its result', async () => {
    await d.start({ net: net([node('a', ['b']), node('b')]) })
    const reply = await d.succeed(await d.claimOne(), { x: 1 }, true)
    expect(reply).toMatchObject({ status: 'recorded', next: { node: 'b', previous: '{"x":1}' } })
    expect((await d.succeed(reply.next as never)).status).toBe('recorded')
  })

  it('stops a chain at a failed step and cancels pending steps', async () => {
    const id = await d.start({ net: net([node('a', ['b'], { retry: ONCE }), node('b')]) })
    await d.fail(await d.claimOne())
    expect(await d.state(id)).toBe('failed')
    expect(await d.error(id)).toBe('boom')
    expect(await d.claim()).toEqual([])
  })

  it('joins a diamond by count, with a skipped parent counted', async () => {
    const diamond = net([
      node('a', ['b', 'c']),
      node('b', ['d'], { onFailure: 'skip', retry: ONCE }),
      node('c', ['d']),
      node('d', [], { join: 'count' }),
    ])
    const id = await d.start({ net: diamond })
    const order = await d.work((w) => (w.node === 'b' ? new Error('bad') : null))
    expect(order[0]).toBe('a')
    expect(order.at(-1)).toBe('d')
    expect(order).toHaveLength(4)
    expect(await d.state(id)).toBe('completed')
  })

  it('undoes in reverse order of completion, one at a time', async () => {
    const saga = net([
      node('a', ['b'], { undo: undoBy('undo.a') }),
      node('b', ['c'], { undo: undoBy('undo.b') }),
      node('c', [], { retry: ONCE, onFailure: 'compensate' }),
    ])
    const id = await d.start({ net: saga, literals: { a: { args: { amount: 3 } } } })
    await d.succeed(await d.claimOne(), { charge: 7 })
    await d.succeed(await d.claimOne())
    await d.fail(await d.claimOne())
    expect(await d.state(id)).toBe('compensating')
    const first = await d.claim()
    expect(first.map((x) => x.type)).toEqual(['undo.b'])
    await d.succeed(first[0] as never)
    const second = await d.claimOne()
    expect(second.type).toBe('undo.a')
    expect(JSON.parse(second.payload)).toEqual({ args: { amount: 3 }, result: { charge: 7 } })
    await d.succeed(second)
    expect(await d.state(id)).toBe('compensated')
    expect(await d.error(id)).toBe('boom')
  })

  it('ends failed with both errors when an undo fails', async () => {
    const saga = net([
      node('a', ['b'], { undo: { ...(undoBy('undo.a') as object), retry: ONCE } as never }),
      node('b', [], { retry: ONCE, onFailure: 'compensate' }),
    ])
    const id = await d.start({ net: saga })
    await d.succeed(await d.claimOne())
    await d.fail(await d.claimOne(), { code: 'first' })
    await d.fail(await d.claimOne(), { code: 'second' })
    const view = await d.engine.view(id)
    expect(view?.instance).toMatchObject({ state: 'failed', outcome: 'rolled_back_partial' })
    expect([view?.error?.code, view?.undoError?.code]).toEqual(['first', 'second'])
  })

  it('fires the finals of a batch once, after the last job, whatever failed', async () => {
    const batch = net(
      [
        node('jobs', [], {
          work: { kind: 'each', items: null, body: null, maxInFlight: null, failFast: false },
          onFailure: 'route',
        }),
        node('on_complete'),
        node('on_failure'),
        node('on_success'),
      ],
      {
        entry: ['jobs'],
        verdict: { failedOn: 'finals', partial: false },
        finals: [
          { node: 'on_complete', when: 'always', onFailure: 'fail' },
          { node: 'on_success', when: 'success', onFailure: 'fail' },
          { node: 'on_failure', when: 'failure', onFailure: 'fail' },
        ],
      },
    )
    const items = [1, 2, 3].map((n) => ({ run: { type: 'email', args: [n], retry: ONCE } }))
    const id = await d.start({ net: batch, items: { jobs: items } })
    const jobs = await d.claim()
    expect(jobs.map((j) => j.payload)).toEqual(['[1]', '[2]', '[3]'])
    await d.succeed(jobs[0] as never, 'one')
    await d.fail(jobs[1] as never)
    expect(await d.claim()).toEqual([])
    await d.succeed(jobs[2] as never, 'three')
    const finals = await d.claim()
    expect(finals.map((f) => f.node).sort()).toEqual(['on_complete', 'on_failure'])
    const seen = await d.session.results(finals[0] as never)
    expect(JSON.parse(seen.byNode.get('jobs') as string)).toMatchObject({
      0: 'one',
      1: { state: 'failed' },
      2: 'three',
    })
    for (const f of finals) await d.succeed(f)
    expect(await d.state(id)).toBe('completed')
  })

  it('issues the items of a loop a few at a time, in order', async () => {
    const loop = net([
      node('loop', [], {
        work: { kind: 'each', items: 'input.list', body: run('step'), maxInFlight: 2, failFast: false },
      }),
    ])
    const id = await d.start({ net: loop, input: { list: ['a', 'b', 'c', 'd', 'e'] } })
    const seen: string[] = []
    for (;;) {
      const open = await d.claim()
      if (open.length === 0) break
      expect(open.length).toBeLessThanOrEqual(2)
      for (const o of open) seen.push(o.payload)
      for (const o of open) await d.succeed(o)
    }
    expect(seen).toEqual(['"a"', '"b"', '"c"', '"d"', '"e"'])
    expect(await d.state(id)).toBe('completed')
  })

  it('runs a nested workflow as a child whose end is the end of the step', async () => {
    const inner = net([node('x', ['y']), node('y')], { name: 'inner' })
    const { netHash } = await import('../../src/kernel/hash.ts')
    const outer = net([
      node('a', ['sub']),
      node('sub', ['z'], { work: { kind: 'child', net: netHash(inner), mode: 'attached', input: null } }),
      node('z'),
    ])
    const id = await d.start({
      net: outer,
      nets: [inner],
      literals: { sub: { start: { literals: { x: { args: 'deep' } } } } },
    })
    expect(await d.work((w) => `did ${w.node} ${w.payload}`)).toEqual(['a', 'x', 'y', 'z'])
    expect(await d.state(id)).toBe('completed')
    const results = await d.engine.results(id)
    expect(JSON.parse(results.get('sub') as string)).toEqual({ x: 'did x "deep"', y: 'did y null' })
  })

  it('cancels a whole tree: pending work at once, running work when it ends', async () => {
    const { netHash } = await import('../../src/kernel/hash.ts')
    const inner = net([node('x', ['y']), node('y')], { name: 'inner' })
    const outer = net([
      node('sub', ['z'], { work: { kind: 'child', net: netHash(inner), mode: 'attached', input: null } }),
      node('z'),
    ])
    const id = await d.start({ net: outer, nets: [inner] })
    const active = await d.claimOne()
    const row = await d.engine.cancelInstance({ id, actor: 'me' })
    expect(row.state).toBe('cancelling')
    await d.engine.sweep()
    expect((await d.succeed(active)).status).toBe('recorded')
    expect(await d.state(id)).toBe('cancelled')
    await expect(d.engine.cancelInstance({ id, actor: 'me' })).rejects.toMatchObject({ code: 'conflict' })
  })

  it('waits at a gate and continues when it is answered', async () => {
    const gated = net([
      node('a', ['ok']),
      node('ok', ['b'], {
        work: { kind: 'gate', options: { title: 'Go on?' }, timeoutMs: 60_000, onTimeout: 'reject' },
      }),
      node('b'),
    ])
    const id = await d.start({ net: gated })
    await d.work()
    expect(await d.state(id)).toBe('waiting')
    const [gate] = await d.store.read.openGates({ instanceId: id, limit: 10 })
    await d.engine.answerGate({ gateId: gate?.id as string, approved: true, answer: { by: 'ann' }, actor: 'ann' })
    await expect(
      d.engine.answerGate({ gateId: gate?.id as string, approved: false, actor: 'bob' }),
    ).rejects.toMatchObject({ code: 'conflict' })
    expect(await d.work()).toEqual(['b'])
    expect(await d.state(id)).toBe('completed')
    expect(await d.results(id)).toMatchObject({ ok: { by: 'ann' } })
  })

  it('answers a gate by its deadline if there is no vote', async () => {
    const id = await d.start({
      net: net([node('ok', [], { work: { kind: 'gate', options: null, timeoutMs: 60_000, onTimeout: 'reject' } })]),
    })
    await d.pass(59_000)
    expect(await d.state(id)).toBe('waiting')
    await d.pass(2_000)
    expect(await d.state(id)).toBe('failed')
    expect(await d.error(id)).toBe('rejected')
  })

  it('holds a denied token until the context is patched', async () => {
    const held = net([
      node('a', ['b']),
      node('b', [], { admit: { rules: [{ when: 'ctx.open', allow: true }], onDeny: 'hold' } }),
    ])
    const id = await d.start({ net: held })
    await d.work()
    expect(await d.state(id)).toBe('waiting')
    await d.engine.patchContext({ instanceId: id, set: { open: true }, actor: 'me' })
    expect(await d.work()).toEqual(['b'])
    expect(await d.state(id)).toBe('completed')
  })

  it('routes by guards over results and input', async () => {
    const routed = net([
      node('a', [], {
        next: {
          mode: 'first',
          scope: null,
          arcs: [
            { to: 'big', when: 'results.a.total > input.limit', args: { from: '{{ results.a.total }}' }, set: null },
            { to: 'small', when: null, args: null, set: null },
          ],
        },
      }),
      node('big'),
      node('small'),
    ])
    const id = await d.start({ net: routed, input: { limit: 10 } })
    await d.succeed(await d.claimOne(), { total: 11 })
    const big = await d.claimOne()
    expect(big.node).toBe('big')
    expect(JSON.parse(big.payload)).toEqual({ from: 11 })
    await d.succeed(big)
    expect(await d.state(id)).toBe('completed')
  })

  it('fails with the reason when a guard cannot be evaluated', async () => {
    const bad = net([
      node('a', [], {
        next: { mode: 'first', scope: null, arcs: [{ to: 'b', when: "'x' > 1", args: null, set: null }] },
      }),
      node('b'),
    ])
    const id = await d.start({ net: bad })
    await d.succeed(await d.claimOne())
    expect(await d.state(id)).toBe('failed')
    expect((await d.engine.view(id))?.error).toMatchObject({ code: 'guard_error', node: 'a' })
  })

  it('ends an instance at its deadline without a running worker', async () => {
    const id = await d.start({ net: net([node('a', ['b']), node('b')], { timeoutMs: 10_000 }) })
    await d.pass(10_001)
    expect(await d.state(id)).toBe('failed')
    expect((await d.engine.view(id))?.instance.outcome).toBe('timed_out')
  })

  it('ends active work at the deadline, asks its worker to stop, and accepts no later report', async () => {
    const id = await d.start({ net: net([node('a', ['b']), node('b')], { timeoutMs: 10_000 }) })
    const active = await d.claimOne()
    await d.pass(10_001)
    const ended = { state: 'failed', outcome: 'timed_out', open: 0 }
    expect((await d.engine.view(id))?.instance).toMatchObject(ended)
    await expect.poll(() => d.stopped).toContain(active.runId)
    expect((await d.succeed(active)).status).toBe('stale')
    expect((await d.engine.view(id))?.instance).toMatchObject(ended)
    expect(await d.claim()).toEqual([])
  })

  it('starts a group of 2,500 in batches, none lost, one final', async () => {
    const big = net(
      [
        node('jobs', [], { work: { kind: 'each', items: null, body: null, maxInFlight: null, failFast: false } }),
        node('last'),
      ],
      { entry: ['jobs'], finals: [{ node: 'last', when: 'always', onFailure: 'fail' }] },
    )
    const items = Array.from({ length: 2500 }, (_, i) => ({ run: { type: 'job', args: i } }))
    const id = await d.start({ net: big, items: { jobs: items } })
    await d.engine.sweep()
    await d.engine.sweep()
    const payloads = new Set<string>()
    let finals = 0
    for (;;) {
      const open = await d.session.claim(1000)
      if (open.length === 0) break
      for (const o of open) o.role === 'final' ? finals++ : payloads.add(o.payload)
      await Promise.all(open.map((o) => d.succeed(o, Number(o.payload))))
    }
    expect(payloads.size).toBe(2500)
    expect(finals).toBe(1)
    expect(await d.state(id)).toBe('completed')
    expect(Object.keys(JSON.parse((await d.engine.results(id)).get('jobs') as string))).toHaveLength(2500)
  }, 60_000)

  it('retries a failed instance as a new one that carries over completed steps', async () => {
    const three = net([node('a', ['b']), node('b', ['c'], { retry: ONCE }), node('c')])
    const id = await d.start({ net: three, literals: { a: { args: 'once' } } })
    await d.succeed(await d.claimOne(), 'A')
    await d.fail(await d.claimOne())
    const again = await d.engine.retryInstance({ id, actor: 'me' })
    expect(await d.work((w) => w.node)).toEqual(['b', 'c'])
    expect(await d.state(again.id)).toBe('completed')
    expect(await d.state(id)).toBe('failed')
    expect(await d.results(again.id)).toEqual({ a: 'A', b: 'b', c: 'c' })
    expect((await d.store.read.instance(again.id))?.retryOf).toBe(id)
  })

  it('resumes a stopped instance in place, under the same run ids', async () => {
    const stop = net([node('a', ['b']), node('b', ['c'], { retry: ONCE }), node('c')], { unknown: 'stop' })
    const id = await d.start({ net: stop })
    await d.succeed(await d.claimOne())
    const failed = await d.claimOne()
    await d.fail(failed)
    expect(await d.state(id)).toBe('failed')
    await d.engine.resumeInstance({ id, actor: 'me' })
    expect(await d.doctor()).toEqual([])
    const again = await d.claimOne()
    expect(again.runId).toBe(failed.runId)
    await d.succeed(again)
    expect(await d.work()).toEqual(['c'])
    expect(await d.state(id)).toBe('completed')
  })
})
