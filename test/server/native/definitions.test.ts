/** Definitions over HTTP: deployed, versioned, read, retired. */
import { beforeAll, describe, expect, it } from 'vitest'
import { onBothStores, type Serving } from '../serving.ts'
import { deploy, everything, key, workflow } from './stage.ts'

onBothStores('definitions over HTTP', (stage) => {
  let s: Serving
  beforeAll(async () => {
    s = await stage.serve({ engine: { sweep: false }, maxBodyBytes: 200_000 })
  })

  describe('POST /v1/definitions', () => {
    it('is 201 with the definition and its location, 200 if nothing changed', async () => {
      const text = workflow('first', { version: '1.0' })
      const made = await deploy(s, text)
      expect(made.status).toBe(201)
      expect(made.headers.get('location')).toBe('/v1/definitions/first/versions/1.0')
      expect(made.body).toMatchObject({
        what: 'created',
        warnings: [],
        definition: { name: 'first', version: '1.0', number: 1, latest: true, dialect: 'dag', used_at: null },
      })
      const again = await deploy(s, text)
      expect([again.status, again.body.what]).toEqual([200, 'unchanged'])
      expect(again.body.definition.id).toBe(made.body.definition.id)
    })

    it('numbers versions where the file names none', async () => {
      await deploy(s, workflow('numbered'))
      const second = await deploy(s, workflow('numbered', { steps: ['pay', 'pack', 'ship'] }))
      expect(second.body).toMatchObject({ what: 'created', definition: { version: '2', latest: true } })
      expect((await deploy(s, workflow('numbered', { steps: ['pay', 'pack', 'ship'] }))).body.what).toBe('unchanged')
      const { body } = await s.get('/v1/definitions/numbered/versions')
      expect(body.definitions.map((d: any) => [d.version, d.latest])).toEqual([
        ['2', true],
        ['1', false],
      ])
    })

    it('replaces a version that was never started, and refuses to change one that was', async () => {
      await deploy(s, workflow('frozen', { version: '1.0' }))
      const other = workflow('frozen', { version: '1.0', steps: ['pay'] })
      expect((await deploy(s, other)).body.what).toBe('replaced')
      await s.post('/v1/instances', { workflow: 'frozen' })
      const before = await everything(s)
      const refused = await deploy(s, workflow('frozen', { version: '1.0', steps: ['ship'] }))
      expect(refused.status).toBe(409)
      expect(refused.body.error).toMatchObject({ code: 'conflict', details: { name: 'frozen', version: '1.0' } })
      expect(refused.body.error.message).toContain('1.1')
      expect(await everything(s)).toEqual(before)
      expect((await s.get('/v1/definitions/frozen')).body.definition.source).toBe(other)
    })

    it('accepts JSON, OJS and nets, too', async () => {
      const json = JSON.stringify({ kind: 'Net', version: 1, name: 'asnet', nodes: { a: { run: 'a.b' } } })
      const net = await s.ask('POST', '/v1/definitions', {
        body: json,
        headers: { 'content-type': 'application/json' },
      })
      expect([net.status, net.body.definition?.dialect]).toEqual([201, 'net'])
      const ojs = await deploy(s, 'type: chain\nname: aschain\nsteps: [{ type: a.b, args: [] }]\n')
      expect([ojs.status, ojs.body.definition?.dialect]).toEqual([201, 'ojs'])
    })

    it('reports warnings with their position', async () => {
      const { status, body } = await deploy(s, workflow('loose').replace('timeout: 1m }', 'colour: red }'))
      expect(status).toBe(201)
      expect(body.warnings).toContainEqual(
        expect.objectContaining({ line: 7, column: expect.any(Number), message: expect.stringContaining('colour') }),
      )
    })

    it('records who deployed it', async () => {
      const { body } = await deploy(s, workflow('owned'), await key(s, 'ci', ['admin']))
      expect(body.definition.created_by).toBe('ci')
    })
  })

  describe('invalid texts', () => {
    it('are answered with every mistake: line, column, path, message, hint; nothing is written', async () => {
      const before = await everything(s)
      const text = workflow('wrong').replace('dependsOn: [pay]', 'dependsOn: [payy], onFailure: explode')
      const reply = await s.ask('POST', '/v1/definitions?file=wrong.yaml', {
        body: text,
        headers: { 'content-type': 'application/yaml' },
      })
      expect(reply.status).toBe(400)
      const { error } = reply.body
      expect(error).toMatchObject({
        code: 'invalid_definition',
        message: expect.stringMatching(/^wrong\.yaml:8:\d+: spec\.steps\[1\]\..+ \(and \d+ more\)$/),
        retryable: false,
        details: { file: 'wrong.yaml' },
      })
      expect(error.details.problems).toEqual(
        expect.arrayContaining([
          {
            line: 8,
            column: expect.any(Number),
            path: 'spec.steps[1].dependsOn[0]',
            message: "there is no step 'payy'",
            hint: "did you mean 'pay'?",
          },
          expect.objectContaining({ line: 8, path: 'spec.steps[1].onFailure' }),
        ]),
      )
      expect(await everything(s)).toEqual(before)
    })

    it.each([
      ['invalid YAML', 'kind: Workflow\nmetadata: { name: x\nspec: [', 'invalid_definition', 3],
      ['a tab', 'kind: Workflow\nmetadata:\n\tname: x\n', 'invalid_definition', 3],
      ['no notation', 'hello: world\n', 'invalid_definition', 1],
      ['only a text', 'hello', 'invalid_definition', 1],
      [
        'a ring',
        workflow('ring').replace('- { name: pay,', '- { name: pay, dependsOn: [ship],'),
        'invalid_definition',
        7,
      ],
      [
        'a condition that cannot be read',
        workflow('c', { trigger: '{ event: a, condition: "1 +" }' }),
        'invalid_definition',
        6,
      ],
      ['an invalid schedule', workflow('c', { trigger: '{ schedule: never }' }), 'invalid_definition', 6],
    ])('%s', async (_, text, code, line) => {
      const before = await everything(s)
      const { status, body } = await deploy(s, text)
      expect([status, body.error.code]).toEqual([400, code])
      expect(body.error.details.problems.map((p: any) => p.line)).toContain(line)
      expect(await everything(s)).toEqual(before)
    })

    it.each([
      ['nothing', '', 'application/yaml', 400, 'invalid_payload', 'the body is empty'],
      ['another media type', 'a=1', 'application/x-www-form-urlencoded', 400, 'invalid_request', 'YAML or JSON'],
      ['too much', `# ${'x'.repeat(300_000)}`, 'application/yaml', 413, 'payload_too_large', 'larger'],
      [
        'NUL',
        workflow('nul').replace('name: pay', 'name: "p\\0ay"'),
        'application/yaml',
        400,
        'invalid_definition',
        '',
      ],
    ])('%s as the body', async (_, text, type, status, code, message) => {
      const before = await everything(s)
      const reply = await s.ask('POST', '/v1/definitions', { body: text, headers: { 'content-type': type } })
      expect([reply.status, reply.body.error.code]).toEqual([status, code])
      expect(reply.body.error.message).toContain(message)
      expect(await everything(s)).toEqual(before)
    })

    it('bytes that are not UTF-8', async () => {
      const response = await fetch(`${s.server.url}/v1/definitions`, {
        method: 'POST',
        headers: { 'content-type': 'application/yaml' },
        body: new Uint8Array([0x6b, 0xff, 0xfe]),
      })
      expect(response.status).toBe(400)
      expect(((await response.json()) as any).error).toMatchObject({ code: 'invalid_payload' })
    })

    it('an unknown query parameter', async () => {
      const reply = await s.ask('POST', '/v1/definitions?name=x', {
        body: workflow('x'),
        headers: { 'content-type': 'text/yaml' },
      })
      expect(reply.status).toBe(400)
      expect(reply.body.error.details.parameter).toBe('name')
      expect((await s.get('/v1/definitions/x')).status).toBe(404)
    })
  })

  describe('reading', () => {
    it('lists the latest of each name, page by page, by notation', async () => {
      const seen: string[] = []
      let before = ''
      for (;;) {
        const { body } = await s.get(`/v1/definitions?limit=2${before}`)
        seen.push(...body.definitions.map((d: any) => d.name))
        expect(body.definitions.every((d: any) => d.latest && d.source === undefined)).toBe(true)
        if (body.next_before === null) break
        before = `&before=${body.next_before}`
      }
      expect(new Set(seen).size).toBe(seen.length)
      expect(seen).toEqual(expect.arrayContaining(['first', 'numbered', 'frozen', 'asnet', 'aschain']))
      const nets = await s.get('/v1/definitions?dialect=net')
      expect(nets.body.definitions.map((d: any) => d.name)).toEqual(['asnet'])
      for (const wrong of ['limit=0', 'before=x', 'colour=red']) {
        expect((await s.get(`/v1/definitions?${wrong}`)).status).toBe(400)
      }
    })

    it('shows a definition, or one version of it, with its text', async () => {
      const { body } = await s.get('/v1/definitions/numbered')
      expect(body.definition).toMatchObject({ version: '2', source: expect.stringContaining('pack') })
      const old = await s.get('/v1/definitions/numbered/versions/1')
      expect(old.body.definition).toMatchObject({ version: '1', latest: false })
    })

    it('suggests a similar name', async () => {
      const { status, body } = await s.get('/v1/definitions/numberd')
      expect(status).toBe(404)
      expect(body.error).toMatchObject({
        code: 'not_found',
        message: "there is no workflow 'numberd'; did you mean 'numbered'?",
        details: { resource_type: 'definition', resource_id: 'numberd', did_you_mean: 'numbered' },
      })
      const version = await s.get('/v1/definitions/numbered/versions/3')
      expect(version.body.error).toMatchObject({ code: 'not_found', details: { known: ['2', '1'] } })
      expect((await s.get('/v1/definitions/nothing-like-it/versions')).status).toBe(404)
      expect((await s.get('/v1/definitions/a%00b')).status).toBe(404)
    })
  })

  describe('DELETE', () => {
    it('retires one version, or all: they cannot be started any more, and running instances continue', async () => {
      await deploy(s, workflow('old', { version: '1' }))
      await deploy(s, workflow('old', { version: '2', steps: ['pay'] }))
      const running = await s.post('/v1/instances', { workflow: 'old' })
      const one = await s.ask('DELETE', '/v1/definitions/old/versions/2')
      expect([one.status, one.body.definitions.map((d: any) => [d.version, d.latest])]).toEqual([200, [['2', false]]])
      expect((await s.get('/v1/definitions/old')).body.definition.version).toBe('1')
      const all = await s.ask('DELETE', '/v1/definitions/old')
      expect(all.body.definitions.every((d: any) => d.retired_at !== null)).toBe(true)
      const refused = await s.post('/v1/instances', { workflow: 'old' })
      expect([refused.status, refused.body.error.code]).toEqual([409, 'conflict'])
      expect((await s.get(`/v1/instances/${running.body.id}`)).body.instance.state).toBe('running')
      expect((await s.get('/v1/definitions')).body.definitions.map((d: any) => d.name)).not.toContain('old')
      expect((await deploy(s, workflow('old', { version: '1' }))).body.what).toBe('restored')
      expect((await s.ask('DELETE', '/v1/definitions/none')).status).toBe(404)
      expect((await s.ask('DELETE', '/v1/definitions/old/versions/9')).status).toBe(404)
    })
  })

  it('needs the scope admin to change, read to read', async () => {
    const reader = await key(s, 'rita', ['read', 'enqueue'])
    const refused = await deploy(s, workflow('guarded'), reader)
    expect([refused.status, refused.body.error.details.required_scope]).toEqual([403, 'admin'])
    expect((await s.get('/v1/definitions', reader)).status).toBe(200)
    expect((await s.ask('DELETE', '/v1/definitions/first', { headers: reader })).status).toBe(403)
    const none = await key(s, 'wim', ['work'])
    expect((await s.get('/v1/definitions', none)).status).toBe(403)
  })

  it('a tenant has separate names', async () => {
    const acme = await key(s, 'ann', ['admin'], 'acme')
    const other = await key(s, 'bob', ['admin'], 'other')
    await deploy(s, workflow('shared', { version: '1' }), acme)
    await deploy(s, workflow('shared', { version: '1', steps: ['pay'] }), other)
    expect((await s.get('/v1/definitions/shared', acme)).body.definition.source).toContain('ship')
    expect((await s.get('/v1/definitions/shared', other)).body.definition.source).not.toContain('ship')
    expect((await s.get('/v1/definitions', acme)).body.definitions.map((d: any) => d.name)).toEqual(['shared'])
    const refused = await s.get('/v1/definitions/first', acme)
    expect([refused.status, refused.body.error.details.known]).toEqual([404, ['shared']])
    expect((await s.post('/v1/instances', { workflow: 'first' }, acme)).status).toBe(404)
    expect((await s.get('/v1/definitions/shared', { 'x-ojs-tenant': 'acme' })).status).toBe(200)
  })
})
