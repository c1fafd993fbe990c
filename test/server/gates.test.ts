/** Gates over HTTP: lists, the state of one, votes with a key, and signed links with their page. */
import { SignJWT } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import type { GateOptions } from '../../src/model/gates.ts'
import type { GateRow } from '../../src/model/rows.ts'
import type { GateWork, Json } from '../../src/net/net.ts'
import type { Scope } from '../../src/operations/caller.ts'
import { makeKey } from '../../src/operations/keys/api-key.ts'
import { net, node } from '../engine/drive.ts'
import { onBothStores, type Reply, type Serving } from './serving.ts'

type As = Record<string, string>
const HTML: As = { accept: 'text/html' }
const MISSING = '01890000-0000-7000-8000-000000000000'

onBothStores('gates over HTTP', (stage) => {
  let s: Serving
  let offset = 0

  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false } })
  })

  async function key(subject: string, roles: string[] = [], scopes: Scope[] = ['enqueue', 'read'], tenant = null) {
    const { id, hash, text } = makeKey()
    const row = { id, hash, subject, scopes, roles, tenant, createdAt: 0, expiresAt: null, revokedAt: null }
    await s.store.keys.add(row as never)
    return { authorization: `Bearer ${text}` }
  }

  async function open(
    options: GateOptions,
    how: { timeoutMs?: number; initiator?: string; tenant?: string; args?: Json } = {},
  ): Promise<{ id: string; instance: string; path: string }> {
    const { timeoutMs = null, initiator, tenant, args } = how
    const work: GateWork = { kind: 'gate', options: options as Json, timeoutMs, onTimeout: 'reject' }
    const arcs = [{ to: 'ok', when: null, args: (args ?? null) as never, set: null }]
    const first = node('first', [], { work: { kind: 'pass' }, next: { mode: 'every', arcs, scope: null } })
    const [started] = await s.engine.start([
      {
        net: net([first, node('ok', [], { work })], { name: 'orders' }),
        ...(initiator === undefined ? {} : { initiator }),
        ...(tenant === undefined ? {} : { tenant }),
      },
    ])
    const instance = (started as { id: string }).id
    const [gate] = await s.store.read.openGates({ instanceId: instance, limit: 1 })
    const { id } = gate as GateRow
    return { id, instance, path: `/v1/gates/${id}` }
  }

  async function link(gate: { path: string }, body: Record<string, unknown>): Promise<string> {
    const made = await s.post(`${gate.path}/links`, body)
    expect(made.status).toBe(201)
    return made.body.path
  }

  async function look(gate: { path: string }): Promise<any> {
    return (await s.get(gate.path)).body.gate
  }

  function send(path: string, fields: Record<string, string>): Promise<Reply> {
    const headers = { ...HTML, 'content-type': 'application/x-www-form-urlencoded' }
    return s.ask('POST', path, { headers, body: new URLSearchParams(fields).toString() })
  }

  describe('lists and views', () => {
    it('lists gates newest first, by state and instance, page by page', async () => {
      const first = await open({ title: 'One?' })
      const second = await open({ title: 'Two?' })
      await s.post(`${first.path}/approve`)
      const { body } = await s.get('/v1/gates?limit=1')
      expect(body.gates.map((g: any) => g.id)).toEqual([second.id])
      expect((await s.get(`/v1/gates?before=${body.next_before}&limit=1`)).body.gates[0].id).toBe(first.id)
      const open_ = await s.get(`/v1/gates?state=open&instance=${first.instance}`)
      expect(open_.body).toEqual({ gates: [], next_before: null })
      expect((await s.get(`/v1/gates?state=approved&instance=${first.instance}`)).body.gates).toHaveLength(1)
      for (const wrong of ['state=new', 'instance=1', 'before=x', 'limit=0', 'colour=red']) {
        expect((await s.get(`/v1/gates?${wrong}`)).status).toBe(400)
      }
    })

    it('shows a gate with its votes, the missing voters and its deadline', async () => {
      const options = { title: 'Pay?', of: ['ann', 'bob', 'cid'], quorum: 2, excludeInitiator: true, roles: ['ops'] }
      const gate = await open(options, { timeoutMs: 60_000, initiator: 'cid' })
      await s.post(`${gate.path}/approve`, { reason: 'ok' }, await key('ann', ['ops']))
      const shown = await look(gate)
      expect(shown).toMatchObject({ title: 'Pay?', state: 'open', on_timeout: 'reject', form: null, description: null })
      expect(Date.parse(shown.due_at) - Date.parse(shown.created_at)).toBe(60_000)
      expect(shown.votes).toMatchObject([{ by: 'ann', roles: ['ops'], approved: true, reason: 'ok', link: null }])
      expect(shown.standing).toEqual({
        quorum: 2,
        seats: 2,
        approvals: 1,
        rejections: 0,
        missing: { approvals: 1, names: ['bob'], roles: ['ops'] },
        excluded: ['cid'],
      })
      expect((await s.get(`/v1/instances/${gate.instance}`)).body.gates[0].votes).toHaveLength(1)
      expect((await s.get(`/v1/gates/${MISSING}`)).status).toBe(404)
      expect((await s.get('/v1/gates/nonsense')).status).toBe(404)
    })
  })

  describe('votes', () => {
    it("the key's subject and roles determine who may vote", async () => {
      const gate = await open({ roles: ['finance'] })
      const denied = await s.post(`${gate.path}/approve`, {}, await key('bob', ['sales']))
      expect([denied.status, denied.body.error.code]).toEqual([403, 'denied'])
      expect(denied.body.error.details).toMatchObject({ required_roles: ['finance'], roles: ['sales'] })
      const done = await s.post(
        `${gate.path}/approve`,
        { answer: { n: 1 }, reason: 'ok' },
        await key('ann', ['finance']),
      )
      expect(done.status).toBe(200)
      expect(done.body.gate).toMatchObject({ state: 'approved', answered_by: 'ann', answer: { n: 1 }, reason: 'ok' })
      expect(done.body.instance.state).toBe('completed')
      const again = await s.post(`${gate.path}/reject`, {}, await key('eve', ['finance']))
      expect([again.status, again.body.error.code]).toEqual([409, 'conflict'])
    })

    it('a local caller without a key is unverified, and has no roles', async () => {
      const plain = await open({})
      const done = await s.post(`${plain.path}/reject`, { reason: 'no' }, { 'x-petrel-actor': 'ann' })
      expect(done.body.gate).toMatchObject({ state: 'rejected', answered_by: 'ann (unverified)' })
      const named = await open({ of: ['ann'] })
      expect((await s.post(`${named.path}/approve`, {}, { 'x-petrel-actor': 'ann' })).status).toBe(403)
      const restricted = await open({ roles: ['ops'] })
      expect((await s.post(`${restricted.path}/approve`, {}, { 'x-petrel-actor': 'ann' })).status).toBe(403)
      expect((await s.post(`${restricted.path}/approve`)).status).toBe(403)
    })

    it('the answer must match the form, and nothing changes if it does not', async () => {
      const gate = await open({ form: { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } } })
      const wrong = await s.post(`${gate.path}/approve`, { answer: { n: 'x' } })
      expect(wrong.status).toBe(400)
      expect(wrong.body.error.details.validation_errors).toEqual([{ path: 'answer.n', message: 'must be integer' }])
      expect((await s.post(`${gate.path}/approve`)).status).toBe(400)
      expect((await s.post(`${gate.path}/approve`, { anwser: 1 })).status).toBe(400)
      expect((await s.post(`${gate.path}/approve`, { reason: 5 })).status).toBe(400)
      expect((await look(gate)).votes).toEqual([])
      expect((await s.post(`${gate.path}/approve`, { answer: { n: 2 } })).status).toBe(200)
    })

    it('voting needs the scope enqueue, and making links the scope admin', async () => {
      const gate = await open({})
      const reader = await key('eve', [], ['read'])
      const voter = await key('ann')
      expect((await s.post(`${gate.path}/approve`, {}, reader)).status).toBe(403)
      expect((await s.post(`${gate.path}/links`, { subject: 'ann' }, voter)).status).toBe(403)
      expect((await s.post(`${gate.path}/approve`, {}, voter)).status).toBe(200)
    })

    it('a key of a tenant sees, decides and links only gates of its tenant', async () => {
      const gate = await open({}, { tenant: 'acme' })
      const other = await key('eve', [], ['admin'], 'umbrella' as never)
      expect((await s.get(gate.path, other)).status).toBe(404)
      expect((await s.post(`${gate.path}/approve`, {}, other)).status).toBe(404)
      expect((await s.post(`${gate.path}/links`, { subject: 'eve' }, other)).status).toBe(404)
      expect((await s.get('/v1/gates', other)).body.gates).toEqual([])
      const own = await key('ann', [], ['admin'], 'acme' as never)
      expect((await s.get('/v1/gates', own)).body.gates.map((g: any) => g.id)).toEqual([gate.id])
      expect((await s.post(`${gate.path}/approve`, {}, own)).status).toBe(200)
    })
  })

  describe('signed links', () => {
    const FORM = {
      type: 'object',
      required: ['amount', 'level'],
      properties: {
        amount: { type: 'number', title: 'Amount in CHF', maximum: 500 },
        level: { enum: ['low', 'high'] },
        urgent: { type: 'boolean' },
        note: { type: 'string' },
      },
    }

    it('a link is for one person and one gate, and is recorded in the history', async () => {
      const gate = await open({ roles: ['finance'], title: 'Pay?' })
      const body = { subject: 'ann', roles: ['finance'], expires_in_seconds: 3600 }
      const made = await s.post(`${gate.path}/links`, body, { 'x-petrel-actor': 'root' })
      expect(made.body.url).toBe(
        `${s.server.url.replace('localhost', new URL(s.server.url).hostname)}${made.body.path}`,
      )
      const seen = await s.get(made.body.path)
      expect(seen.body).toMatchObject({
        gate: { id: gate.id, state: 'open' },
        invitation: { subject: 'ann', roles: ['finance'], link: made.body.link, expires_at: made.body.expires_at },
      })
      const { events } = (await s.get(`/v1/instances/${gate.instance}/events`)).body
      expect(events.find((e: any) => e.type === 'gate.linked')).toMatchObject({
        actor: 'root (unverified)',
        data: { gate: gate.id, subject: 'ann', roles: ['finance'], link: made.body.link },
      })
      const done = await s.post(made.body.path, { decision: 'approve', reason: 'fine' })
      expect(done.body.gate).toMatchObject({ state: 'approved', answered_by: 'ann', reason: 'fine' })
      expect(done.body.gate.votes[0]).toMatchObject({ by: 'ann', roles: ['finance'], link: made.body.link })
    })

    it('invalid requests for a link are refused', async () => {
      const gate = await open({})
      const wrong = [{}, { subject: 5 }, { subject: '' }, { subject: 'a', roles: 'x' }, { subject: 'a', role: ['x'] }]
      for (const body of [...wrong, { subject: 'a', expires_in_seconds: 0 }, { subject: 'a\nb' }]) {
        expect((await s.post(`${gate.path}/links`, body)).status).toBe(400)
      }
      expect(
        (
          await s.post(`${gate.path}/links`, {
            subject: 'a',
            roles: ['r'.repeat(200), 's'.repeat(200), 't'.repeat(200), 'u'.repeat(200)],
          })
        ).status,
      ).toBe(400)
      await s.post(`${gate.path}/approve`)
      expect((await s.post(`${gate.path}/links`, { subject: 'ann' })).status).toBe(409)
    })

    it('the page shows the decision to make and the fields of the form, and the form decides', async () => {
      const gate = await open({ title: 'Pay <b>Müller & Co</b>?', description: 'For the office', form: FORM })
      const path = await link(gate, { subject: 'ann', roles: ['finance'] })
      const page = await s.get(path, HTML)
      expect(page.status).toBe(200)
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(page.headers.get('referrer-policy')).toBe('no-referrer')
      expect(page.headers.get('cache-control')).toBe('no-store')
      expect(page.text).toContain('Pay &lt;b&gt;Müller &amp; Co&lt;/b&gt;?')
      expect(page.text).not.toContain('<script')
      for (const part of [
        'For the office',
        'Amount in CHF',
        'type="number"',
        '<select',
        'type="checkbox"',
        'finance',
      ]) {
        expect(page.text).toContain(part)
      }
      const wrong = await send(path, {
        decision: 'approve',
        'answer.amount': '501',
        'answer.level': '1',
        reason: 'why not',
      })
      expect(wrong.status).toBe(400)
      expect(wrong.text).toContain('amount: must be &lt;= 500')
      expect(wrong.text).toContain('value="501"')
      expect(wrong.text).toContain('why not')
      expect((await look(gate)).votes).toEqual([])
      const done = await send(path, { decision: 'approve', 'answer.amount': '12.5', 'answer.level': '1', reason: '' })
      expect(done.status).toBe(200)
      expect(done.text).toContain('You <span class="yes-word">approved</span> this')
      expect((await look(gate)).answer).toEqual({ amount: 12.5, level: 'high', urgent: false })
    })

    it('a form that is not a flat object is requested as JSON; a rejection needs no answer', async () => {
      const form = { type: 'array', items: { type: 'integer' } }
      const gate = await open({ form, quorum: 2, of: 3 })
      const path = await link(gate, { subject: 'ann' })
      expect((await s.get(path, HTML)).text).toContain('<textarea class="json"')
      expect((await send(path, { decision: 'approve', answer: '[1,' })).text).toContain('not JSON')
      expect((await send(path, { decision: 'approve', answer: '["x"]' })).status).toBe(400)
      expect((await send(path, { decision: 'approve', answer: '[1]' })).text).toContain('It waits for 1 more approval')
      const other = await link(gate, { subject: 'bob' })
      await send(other, { decision: 'reject', answer: 'nonsense', reason: 'never' })
      expect((await look(gate)).votes).toMatchObject([
        { answer: [1] },
        { approved: false, answer: null, reason: 'never' },
      ])
    })

    it('a link works once, and a second use reports the decision', async () => {
      const gate = await open({ quorum: 2, of: 3 })
      const path = await link(gate, { subject: 'ann' })
      await send(path, { decision: 'approve' })
      const again = await send(path, { decision: 'reject' })
      expect(again.status).toBe(409)
      expect(again.text).toContain('has approved gate')
      expect((await s.get(path, HTML)).text).toContain('A link works once')
      const json = await s.post(path, { decision: 'approve' })
      expect([json.status, json.body.error.code]).toEqual([409, 'conflict'])
      const second = await link(gate, { subject: 'ann' })
      expect((await s.post(second, { decision: 'approve' })).status).toBe(409)
      expect((await look(gate)).votes).toHaveLength(1)
    })

    it('a link gives its holder no more rights than its subject has', async () => {
      const gate = await open({ roles: ['finance'], excludeInitiator: true }, { initiator: 'ann' })
      const own = await send(await link(gate, { subject: 'ann', roles: ['finance'] }), { decision: 'approve' })
      expect([own.status, own.text.includes('may not decide')]).toEqual([403, true])
      expect((await s.post(await link(gate, { subject: 'bob' }), { decision: 'approve' })).status).toBe(403)
      expect((await look(gate)).votes).toEqual([])
    })

    it('forged, changed and expired links are refused with a clear page or JSON, and change nothing', async () => {
      const [gate, other] = [await open({}), await open({})]
      const path = await link(gate, { subject: 'ann', expires_in_seconds: 60 })
      const [head, payload, signature] = path.replace('/gates/decide/', '').split('.') as [string, string, string]
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
      const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const foreign = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.alloc(32, 1))
      const forged = [
        `${head}.${encoded({ ...claims, gate: other.id })}.${signature}`,
        `${head}.${encoded({ ...claims, sub: 'root' })}.${signature}`,
        `${encoded({ alg: 'none' })}.${payload}.`,
        foreign,
      ]
      for (const token of forged) {
        const page = await send(`/gates/decide/${token}`, { decision: 'approve' })
        expect([page.status, page.text.includes('This link does not work')]).toEqual([403, true])
        const json = await s.get(`/gates/decide/${token}`)
        expect([json.status, json.body.error.details.reason]).toEqual([403, 'forged'])
      }
      for (const part of ['nonsense', path.slice(0, 40)]) {
        const page = await s.get(part.startsWith('/') ? part : `/gates/decide/${part}`, HTML)
        expect([page.status, page.text.includes('This link does not work')]).toEqual([404, true])
      }
      offset += 61_000
      await s.store.moveClock(offset)
      const late = await send(path, { decision: 'approve' })
      expect([late.status, late.text.includes('expired at')]).toEqual([403, true])
      expect((await s.post(path, { decision: 'approve' })).body.error.details.reason).toBe('expired')
      for (const one of [gate, other]) expect(await look(one)).toMatchObject({ state: 'open', votes: [] })
    })

    it('after the deadline and on a closed gate the page shows that and offers no form', async () => {
      const gate = await open({}, { timeoutMs: 30_000 })
      const path = await link(gate, { subject: 'ann' })
      offset += 31_000
      await s.store.moveClock(offset)
      const page = await s.get(path, HTML)
      expect([page.text.includes('The time to decide ended'), page.text.includes('<form')]).toEqual([true, false])
      expect((await send(path, { decision: 'approve' })).status).toBe(409)
      const gone = await open({})
      const second = await link(gone, { subject: 'ann' })
      await s.engine.cancelInstance({ id: gone.instance, actor: null })
      expect((await s.get(second, HTML)).text).toContain('This no longer needs a decision')
    })

    it('a link made by one server is valid on another of the same store, also where keys are required', async () => {
      await key('root', [], ['admin'])
      const gate = await open({})
      const path = await link(gate, { subject: 'ann' })
      const other = await stage.serve({ auth: 'required', engine: { sweep: false } })
      expect((await other.get(path, HTML)).status).toBe(200)
      expect((await other.post(path, { decision: 'approve' })).status).toBe(200)
      expect((await other.get(`/v1/gates/${gate.id}`)).status).toBe(401)
    })

    it('only a form or JSON is accepted, and a decision is one of two values', async () => {
      const path = await link(await open({}), { subject: 'ann' })
      expect((await send(path, { decision: 'maybe' })).status).toBe(400)
      expect((await s.post(path, { decision: 'maybe' })).status).toBe(400)
      expect((await s.post(path, {})).status).toBe(400)
      const plain = await s.ask('POST', path, { headers: { 'content-type': 'text/plain' }, body: 'approve' })
      expect(plain.status).toBe(400)
      const elsewhere = { 'content-type': 'application/x-www-form-urlencoded' }
      expect((await s.ask('POST', '/v1/runs', { headers: elsewhere, body: 'a=1' })).status).toBe(400)
    })
  })
})
