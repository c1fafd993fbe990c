/**
 * Approvals over HTTP: a patch of the context admits a held token, once, and only by the names that the step requires.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Worker } from '../../../src/worker/worker.ts'
import { deploy, key, MISSING } from '../native/stage.ts'
import { onBothStores, type Reply, type Serving, until } from '../serving.ts'
import { log, playbook, standing, start, worker } from './stage.ts'

const gated = (when: string): string => `workload: { approved: false }
workflow:
  - { step: build, tool: { kind: shell, cmd: 'echo built' }, next: { arcs: [{ step: ship }] } }
  - step: ship
    spec: { policy: { admit: { rules: [{ when: '${when}', then: { allow: true } }] } } }
    tool: { kind: shell, cmd: 'echo shipped' }
`

onBothStores('approvals', (stage) => {
  let s: Serving
  let hands: Worker
  beforeAll(async () => {
    s = await stage.serve()
    hands = await worker(s)
  }, 60_000)
  afterAll(() => hands.stop())

  const patch = (id: string, set: unknown, headers: Record<string, string> = {}): Promise<Reply> => {
    const type = { 'content-type': 'application/json' }
    const body = typeof set === 'string' ? set : { set }
    return s.ask('PATCH', `/v1/instances/${id}/context`, { body, headers: { ...type, ...headers } })
  }
  const held = async (name: string, when = '{{ ctx.approved }}'): Promise<string> => {
    const id = await start(s, name, gated(when))
    await standing(s, id, 'waiting')
    return id
  }

  it('sent many times at once admit the token once', async () => {
    const id = await held('often')
    const replies = await Promise.all(Array.from({ length: 20 }, () => patch(id, { approved: true })))
    const statuses = new Set(replies.map(({ status }) => status))
    // Patches after its end find nothing to change.
    statuses.delete(409)
    expect([...statuses]).toEqual([200])
    await standing(s, id, 'success')
    const events = await log(s, id)
    const of = (type: string) => events.filter(({ event_type, step }) => event_type === type && step === 'ship')
    expect([of('step.scheduled').length, of('step.done').length]).toEqual([1, 1])
    const granted = of('policy.admit.evaluated').filter(({ payload }) => payload.allow)
    expect(granted).toHaveLength(1)
    expect((await patch(id, { approved: true })).body.error).toMatchObject({ code: 'conflict' })
  }, 60_000)

  it.each([
    [
      'the workload does not change',
      'workload',
      '{{ workload.approved }}',
      { workload: { approved: true }, 'workload.approved': true },
    ],
    [
      'nor the result of a step',
      'result',
      '{{ build.approved }}',
      { build: { approved: true }, 'build.approved': true },
    ],
    [
      "nor members of a mapping's prototype",
      'prototype',
      '{{ ctx.approved }}',
      '{"set":{"__proto__":{"approved":true},"constructor":{"approved":true}}}',
    ],
    [
      "nor the engine's own entries",
      'slots',
      '{{ ctx.approved }}',
      { 'c:approved': true, in: { approved: true }, args: { approved: true } },
    ],
  ])(
    '%s by a patch',
    async (_, name, when, set) => {
      const id = await held(name, when)
      const { status, body } = await patch(id, set)
      expect([status, body.instance.state]).toEqual([200, 'waiting'])
      expect((await s.get(`/v1/instances/${id}`)).body.execution).toMatchObject({
        status: 'waiting',
        counts: { held: 1 },
      })
      expect(({} as { approved?: boolean }).approved).toBeUndefined()
      await s.post(`/v1/instances/${id}/cancel`)
    },
    60_000,
  )

  it('are refused if the body is too large, not JSON or unstorable, and nothing changes', async () => {
    const id = await held('refused')
    const before = await log(s, id)
    const bad: readonly unknown[] = [
      { approved: 'x'.repeat(5 * 1024 * 1024) },
      '{"set": {"approved": tru',
      '{"set": {"approved": "\\u0000"}}',
      '{"set": {"approved": "\\ud800"}}',
      `{"set": {"approved": ${'['.repeat(5000)}${']'.repeat(5000)}}}`,
    ]
    const codes: string[] = []
    for (const set of bad) {
      const { status, body } = await patch(id, set)
      codes.push(`${status} ${body.error.code}`)
    }
    expect(codes).toEqual([
      '413 payload_too_large',
      '400 invalid_payload',
      '400 unstorable',
      '400 unstorable',
      '400 invalid_payload',
    ])
    expect(await log(s, id)).toEqual(before)
    await s.post(`/v1/instances/${id}/cancel`)
  }, 60_000)

  it('need the scope: others get 403, other tenants 404', async () => {
    const deployer = await key(s, 'ann', ['admin'], 'a')
    const text = playbook('owned', gated('{{ ctx.approved }}'))
    expect((await deploy(s, text, deployer)).status).toBe(201)
    const { body } = await s.post('/v1/instances', { workflow: 'owned' }, deployer)
    const look = async () => (await s.get(`/v1/instances/${body.id}`, deployer)).body
    await until(look, ({ execution }) => execution?.status === 'waiting', 30_000)
    const reader = await key(s, 'rita', ['read'], 'a')
    const stranger = await key(s, 'eve', ['admin'], 'b')
    expect((await patch(body.id, { approved: true }, reader)).status).toBe(403)
    expect((await patch(body.id, { approved: true }, stranger)).status).toBe(404)
    expect((await patch(MISSING, { approved: true }, deployer)).status).toBe(404)
    expect((await patch(body.id, { approved: true }, { authorization: 'Bearer forged' })).status).toBe(401)
    expect((await look()).execution.status).toBe('waiting')
    expect((await patch(body.id, { approved: true }, deployer)).status).toBe(200)
    const done = await until(look, ({ execution }) => execution.status === 'success', 30_000)
    expect(done.execution.status).toBe('success')
    const events = (await s.get(`/v1/instances/${body.id}/execution-events?types=ctx.updated`, deployer)).body.events
    expect(events).toMatchObject([{ payload: { actor: expect.stringContaining('ann'), names: ['approved'] } }])
  }, 60_000)
})
