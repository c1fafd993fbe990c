/** Playbooks in their own words: the state of an execution, what blocks it, where its results are. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Worker } from '../../../src/worker/worker.ts'
import { checkReply } from '../documented.ts'
import { deploy, everything, key, MISSING } from '../native/stage.ts'
import { onBothStores, type Serving } from '../serving.ts'
import { log, playbook, standing, start, worker } from './stage.ts'

const sh = (name: string, rest = '', cmd = 'true') =>
  `  - { step: ${name}, tool: { kind: shell, cmd: '${cmd}' }${rest === '' ? '' : `, ${rest}`} }\n`
const GATE =
  "spec: { policy: { admit: { rules: [{ when: '{{ ctx.approved }}', then: { allow: true } }, { else: { then: { allow: false } } }] } } }"

onBothStores('a playbook on the server', (stage) => {
  let s: Serving
  let hands: Worker
  beforeAll(async () => {
    s = await stage.serve()
    hands = await worker(s)
  }, 60_000)
  afterAll(() => hands.stop())

  it('waits with its blocked tokens, shows why, is admitted by a patch, and succeeds', async () => {
    const id = await start(
      s,
      'approval',
      `workflow:\n${sh('build', 'next: { arcs: [{ step: ship }] }')}${sh('ship', GATE, 'echo shipped')}`,
    )
    const { execution, instance } = await standing(s, id, 'waiting')
    expect(instance.state).toBe('waiting')
    expect(execution).toMatchObject({
      execution_id: id,
      playbook: 'approval',
      entry_step: 'build',
      final_step: null,
      current_steps: [],
      ended_at: null,
      counts: { steps: 1, succeeded: 1, failed: 0, held: 1 },
      blocked_tokens: [
        {
          step: 'ship',
          tokens: 1,
          state: 'held',
          rules: [
            { when: '{{ ctx.approved }}', allow: true },
            { when: null, allow: false },
          ],
        },
      ],
      failures: [],
      error: null,
    })
    const { body: steps } = await s.get(`/v1/instances/${id}/steps`)
    expect(steps.steps).toMatchObject([
      {
        name: 'build',
        state: 'completed',
        type: expect.stringMatching(/^playbook\.step:tools=/),
        held_tokens: 0,
        loop: null,
      },
      { name: 'ship', state: 'pending', depends_on: ['build'], held_tokens: 1 },
    ])
    const { body: why } = await s.get(`/v1/instances/${id}/why`)
    expect(why.waits).toMatchObject([
      {
        node: 'ship',
        state: 'pending',
        reasons: [{ kind: 'admission', instance: id, tokens: 1, text: expect.stringContaining('ctx.approved') }],
      },
    ])
    const patch = (set: object) =>
      s.ask('PATCH', `/v1/instances/${id}/context`, { body: { set }, headers: { 'content-type': 'application/json' } })
    expect((await patch({ approved: false })).body.instance.state).toBe('waiting')
    expect((await patch({ approved: true })).body).toMatchObject({ context: { approved: true } })
    const done = await standing(s, id, 'success')
    expect(done.execution).toMatchObject({ blocked_tokens: [], counts: { steps: 2, succeeded: 2, held: 0 } })
    expect(done.results.ship.stdout).toBe('shipped\n')
    expect((await log(s, id)).filter(({ event_type }) => event_type === 'ctx.updated')).toMatchObject([
      { payload: { names: ['approved'] } },
      { payload: { names: ['approved'] } },
    ])
  }, 60_000)

  it('fails with the unhandled failures; one that an arc handled is shown as handled', async () => {
    const arcs = 'next: { arcs: [{ step: mend, when: \'{{ event.name == "step.failed" }}\' }] }'
    const id = await start(
      s,
      'failing',
      `workflow:\n${sh('a', arcs, 'exit 3')}${sh('mend', 'next: { arcs: [{ step: b }] }')}${sh('b', '', 'exit 4')}`,
    )
    const { execution, error } = await standing(s, id, 'failed')
    expect(execution.counts).toMatchObject({ steps: 3, succeeded: 1, failed: 2, unhandled: 1 })
    expect(execution.failures).toMatchObject([
      { step: 'a', handled: true },
      { step: 'b', handled: false },
    ])
    expect(error.node).toBe('b')
    expect(execution.error).toEqual(error)
  }, 60_000)

  it('is partial if its policy allows it, and reports held tokens when it may complete without them', async () => {
    const partial = 'executor: { spec: { policy: { partial: true, pending: complete } } }\n'
    const fork = 'next: { spec: { mode: inclusive }, arcs: [{ step: bad }, { step: gated }] }'
    const id = await start(
      s,
      'partial',
      `${partial}workflow:\n${sh('a', fork)}${sh('bad', '', 'exit 1')}${sh('gated', GATE)}`,
    )
    const { execution, instance } = await standing(s, id, 'partial')
    expect(instance).toMatchObject({ state: 'completed', outcome: 'partial' })
    expect(execution.blocked_tokens).toMatchObject([{ step: 'gated', tokens: 1, state: 'discarded' }])
  }, 60_000)

  it('shows the final step, and its references lead to the results', async () => {
    const id = await start(
      s,
      'final',
      `executor: { spec: { final_step: report } }\nworkflow:\n${sh('a', '', 'echo one')}` +
        "  - { step: report, tool: { kind: shell, cmd: 'echo {{ args.results.a.ref }}' } }\n",
    )
    const { execution } = await standing(s, id, 'success')
    expect(execution.final_step).toEqual({ step: 'report', state: 'completed' })
    const report = await s.get(`/v1/instances/${id}/results/report`)
    const ref = new URL(report.body.result.stdout.trim())
    expect(ref.href).toBe(`petrel://instances/${id}/results/a`)
    const { status, body } = await s.get(`/v1/${ref.host}${ref.pathname}`)
    expect([status, body]).toMatchObject([
      200,
      { instance_id: id, node: 'a', state: 'completed', result: { stdout: 'one\n' } },
    ])
  }, 60_000)

  it('is cancelled', async () => {
    const id = await start(s, 'cancelled', `workflow:\n${sh('a', 'next: { arcs: [{ step: b }] }')}${sh('b', GATE)}`)
    await standing(s, id, 'waiting')
    await s.post(`/v1/instances/${id}/cancel`)
    const { execution } = await standing(s, id, 'cancelled')
    expect(execution.blocked_tokens).toEqual([])
  }, 60_000)

  it('stores large arguments separately, readable by their reference', async () => {
    const id = await start(
      s,
      'large',
      `executor: { spec: { policy: { limits: { max_payload_bytes: 300 } } } }\nworkflow:\n` +
        "  - { step: a, tool: { kind: noop }, next: { arcs: [{ step: b, args: { text: '{{ workload.text }}' } }] } }\n" +
        sh('b', '', 'printf %s "{{ args.text | length }}"'),
      { text: 'x'.repeat(500) },
    )
    const { runs, results } = await standing(s, id, 'success')
    expect(results.b.stdout).toBe('500')
    const run = await s.store.read.run(runs[0].id)
    const { $ref } = JSON.parse(run?.payload ?? '{}').args ?? JSON.parse(run?.payload ?? '{}')
    expect($ref).toMatch(/^x:\d+$/)
    const { status, body } = await s.get(`/v1/instances/${id}/refs/${$ref}`)
    expect(status).toBe(200)
    expect(JSON.stringify(body.value)).toContain('x'.repeat(500))
  }, 60_000)

  it('shows the result of every kind of step, and its state', async () => {
    const arcs = 'next: { spec: { mode: inclusive }, arcs: [{ step: each }, { step: later }] }'
    const id = await start(
      s,
      'kinds',
      `workflow:\n  - { step: route, set: { ctx.n: 1 }, ${arcs} }\n` +
        "  - { step: each, loop: { in: [1, 2], iterator: i }, tool: { kind: shell, cmd: 'echo {{ iter.i }}' } }\n" +
        sh('later', GATE),
    )
    await standing(s, id, 'waiting')
    const look = async (step: string) => (await s.get(`/v1/instances/${id}/results/${step}`)).body
    expect(await look('route')).toMatchObject({ state: 'completed', result: null })
    expect(await look('each')).toMatchObject({
      state: 'completed',
      result: { stats: { total: 2, success: 2, failed: 0 } },
    })
    expect(await look('later')).toMatchObject({ state: 'pending', result: null })
    await s.post(`/v1/instances/${id}/cancel`)
  }, 60_000)

  it('matches the OpenAPI document', async () => {
    const id = await start(
      s,
      'documented',
      `executor: { spec: { final_step: last } }\nworkflow:\n` +
        "  - { step: a, loop: { in: [1, 2], iterator: i }, tool: { kind: shell, cmd: 'test {{ iter.i }} = 1' }, next: { arcs: [{ step: b }] } }\n" +
        sh('b', GATE) +
        sh('last'),
    )
    const paths = ['', '/execution-events', '/steps', '/why', '/results/a', '/net', '/events']
    for (const state of ['waiting', 'failed']) {
      await standing(s, id, state)
      for (const path of paths) {
        const whole = `/v1/instances/${id}${path}`
        expect(checkReply('GET', whole, await s.get(whole)).status).toBe(200)
      }
      const patch = `/v1/instances/${id}/context`
      const headers = { 'content-type': 'application/json' }
      checkReply('PATCH', patch, await s.ask('PATCH', patch, { body: { set: { approved: true } }, headers }))
    }
  }, 60_000)

  it('accepts a mapping as input, or nothing: anything else is refused and starts nothing', async () => {
    const failed = await start(s, 'fed', `workflow:\n${sh('a', '', 'exit 1')}`, {})
    await standing(s, failed, 'failed')
    const before = (await s.get('/v1/instances?name=fed')).body.instances.length
    for (const input of [[1], 'x', 7, true]) {
      const started = await s.post('/v1/instances', { workflow: 'fed', input })
      const retried = await s.post(`/v1/instances/${failed}/retry`, { input })
      for (const { status, body } of [started, retried])
        expect([status, body.error.code, body.error.message]).toEqual([
          400,
          'invalid_request',
          expect.stringContaining('must be a mapping of names to values'),
        ])
    }
    expect((await s.get('/v1/instances?name=fed')).body.instances).toHaveLength(before)
  }, 60_000)

  describe('requests for unknown things', () => {
    let id: string
    beforeAll(async () => {
      id = await start(s, 'small', `workflow:\n${sh('a')}`)
      await standing(s, id, 'success')
    }, 60_000)

    it.each([
      ['results/b', 404, /there is no step b/],
      ['results/a%00', 404, /there is no step/],
      ['refs/x:1', 404, /there is no reference x:1/],
      ['refs/in', 404, /x and a number/],
      ['refs/c:secret', 404, /there is no reference/],
      ['execution-events?after=soon', 400, /next_after of a page/],
      ['execution-events?types=step.donne', 400, /types cannot be 'step.donne'/],
      ['execution-events?limit=0', 400, /limit/],
      ['execution-events?page=2', 400, /no query parameter 'page'/],
    ])('%s is %i', async (path, status, words) => {
      const reply = await s.get(`/v1/instances/${id}/${path}`)
      expect([reply.status, reply.text]).toEqual([status, expect.stringMatching(words)])
    })

    it('an unknown instance, another notation, another tenant', async () => {
      expect((await s.get(`/v1/instances/${MISSING}/execution-events`)).status).toBe(404)
      await deploy(
        s,
        'apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: steps }\nspec: { steps: [{ name: a }] }',
      )
      const { body } = await s.post('/v1/instances', { workflow: 'steps' })
      const other = await s.get(`/v1/instances/${body.id}/execution-events`)
      expect(other.body.error).toMatchObject({ code: 'unsupported', hint: expect.stringContaining('/events') })
      expect((await s.get(`/v1/instances/${body.id}`)).body.execution).toBeUndefined()
      const stranger = await key(s, 'eve', ['read'], 'elsewhere')
      for (const path of ['execution-events', 'results/a', 'refs/x:1'])
        expect((await s.get(`/v1/instances/${id}/${path}`, stranger)).status).toBe(404)
    })
  })

  it('with mistakes is refused with all of them, and nothing is written', async () => {
    const before = await everything(s)
    const text = playbook(
      'wrong',
      'workflow:\n  - { step: a, tool: { kind: htpp, url: x }, next: { arcs: [{ step: bb }] } }\n  - { step: b, tool: { kind: shell } }\n',
    )
    const { status, body } = await s.ask('POST', '/v1/definitions?file=wrong.yaml', {
      body: text,
      headers: { 'content-type': 'application/yaml' },
    })
    expect([status, body.error.code]).toEqual([400, 'invalid_definition'])
    const lines = body.error.details.problems.map((p: { line: number; message: string }) => [p.line, p.message])
    expect(lines).toEqual(
      expect.arrayContaining([
        [5, expect.stringContaining('htpp')],
        [5, expect.stringContaining('bb')],
        [6, expect.any(String)],
      ]),
    )
    for (const bomb of [
      'a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nkind: Playbook\nworkflow: [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n',
      'kind: Playbook\nkind: Playbook\n',
      'kind: Playbook\nworkflow: {\n',
    ]) {
      const reply = await s.ask('POST', '/v1/definitions', {
        body: bomb,
        headers: { 'content-type': 'application/yaml' },
      })
      expect([reply.status, reply.body.error.code]).toEqual([400, 'invalid_definition'])
      expect(reply.body.error.details.problems[0]).toMatchObject({ line: expect.any(Number), hint: expect.any(String) })
    }
    expect(await everything(s)).toEqual(before)
  })
})
