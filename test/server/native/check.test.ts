/** POST /v1/definitions/check: what a deploy would say, and nothing written. */
import { beforeAll, expect, it } from 'vitest'
import { checkReply } from '../documented.ts'
import { keyOf } from '../keys.ts'
import { onBothStores, type Serving } from '../serving.ts'
import { workflow, YAML } from './stage.ts'

onBothStores('a check', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve()
  })
  const check = async (body: string, headers: Record<string, string> = {}) =>
    checkReply(
      'POST',
      '/v1/definitions/check',
      await s.post('/v1/definitions/check?file=order.yaml', body, { ...YAML, ...headers }),
    )

  it('of a valid text has its name and the net that a deploy stores, and writes nothing', async () => {
    const text = workflow('order', { version: '3' })
    const { status, body } = await check(text)
    expect(status).toBe(200)
    expect(body).toMatchObject({ ok: true, problems: [], definition: { name: 'order', version: '3', dialect: 'dag' } })
    expect((await s.get('/v1/definitions')).body.definitions).toEqual([])
    expect((await s.get(`/v1/nets/${body.net.hash}`)).status).toBe(404)
    const deployed = (await s.post('/v1/definitions', text, YAML)).body.definition
    expect([deployed.net, deployed.source_hash]).toEqual([body.net.hash, body.definition.source_hash])
    expect((await s.get(`/v1/nets/${body.net.hash}`)).body.net).toEqual(body.net.net)
  })

  it('of a text with mistakes has all of them, with their places', async () => {
    const { status, body } = await check(
      workflow('order').replace('dependsOn: [pay]', 'dependsOn: [payy]').replace('1h', 'soon'),
    )
    expect([status, body.ok, body.definition, body.net]).toEqual([200, false, null, null])
    expect(body.problems).toMatchObject([
      { line: 5, path: 'spec.timeout' },
      { path: 'spec.steps[1].dependsOn[0]', hint: "did you mean 'pay'?" },
    ])
    const refused = await s.post('/v1/definitions?file=order.yaml', workflow('order').replace('1h', 'soon'), YAML)
    expect(refused.body.error.details.problems[0]).toMatchObject({ path: 'spec.timeout' })
  })

  it.each([': : :', '{"kind": ', 'kind: Nothing', '- a\n- b', 'x'.repeat(10_000)])(
    '%.20s is not valid',
    async (text) => {
      const { status, body } = await check(text)
      expect([status, body.ok]).toEqual([200, false])
      expect(body.problems.length).toBeGreaterThan(0)
    },
  )

  it('an empty body is refused, and so is a key that may not read', async () => {
    expect((await s.post('/v1/definitions/check', '  ', YAML)).status).toBe(400)
    const worker = await keyOf(s, 'w', null, ['work'])
    expect((await s.post('/v1/definitions/check', workflow('order'), { ...YAML, ...worker })).status).toBe(403)
    const reader = await keyOf(s, 'r', 'acme', ['read'])
    expect((await check(workflow('order'), reader)).body.ok).toBe(true)
  })
})
