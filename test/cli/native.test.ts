/** Definitions and instances at a shell: deploy, start, events, retry, context. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type FreshDatabase, freshDatabase, postgresUrl } from '../services.ts'
import { HANDLERS, shell } from './petrel.ts'

const sh = shell()

function workflow(name: string, more: { version?: string; trigger?: string; step?: string } = {}): string {
  const { version, trigger, step = 'test.echo' } = more
  return `apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: ${name}${version === undefined ? '' : `, version: "${version}"`} }
spec:
  timeout: 1h
${trigger === undefined ? '' : `  trigger: ${trigger}\n`}  steps:
    - { name: pay, uses: test.echo, timeout: 1m }
    - { name: ship, uses: ${step}, timeout: 1m, dependsOn: [pay] }
`
}

function suite(store: () => string): void {
  const petrel = (...args: readonly string[]) => sh.petrel(...args, '--store', store())

  async function deploy(...given: Parameters<typeof workflow>): Promise<void> {
    const { code, err } = await petrel('deploy', sh.write('given.yaml', workflow(...given)))
    expect([code, err]).toEqual([0, ''])
  }

  it('deploy creates a missing store, and prints what was deployed and how to start it', async () => {
    const file = sh.write('order.yaml', workflow('order', { version: '1.0' }))
    const first = await petrel('deploy', file)
    expect([first.code, first.err]).toEqual([0, ''])
    expect(first.out).toBe('order 1.0 deployed; `petrel start order` starts it\n')
    expect((await petrel('deploy', file)).out).toContain('order 1.0 unchanged')
    sh.write('order.yaml', workflow('order', { version: '1.0', trigger: '{ event: order.placed }' }))
    expect((await petrel('deploy', file)).out).toBe(
      'order 1.0 replaced: nothing had started it yet; starts on order.placed\n',
    )
  })

  it('deploy takes several files in any order, and reports the mistakes of each', async () => {
    const parent = workflow('a-parent').replace(
      'uses: test.echo, timeout: 1m, dependsOn',
      'workflow: b-child, timeout: 1m, dependsOn',
    )
    const files = [sh.write('a.yaml', parent), sh.write('b.yaml', workflow('b-child'))]
    const both = await petrel('deploy', ...files)
    expect([both.code, both.err]).toEqual([0, ''])
    expect(both.out).toMatch(/^a-parent 1 deployed.*\nb-child 1 deployed/)
    const wrong = sh.write('wrong.yaml', workflow('wrong').replace('[pay]', '[payy]'))
    const mixed = await petrel('deploy', wrong, files[1] as string)
    expect(mixed.code).toBe(2)
    expect(mixed.out).toContain('b-child 1 unchanged')
    expect(mixed.err).toMatch(
      /wrong\.yaml:8:\d+: spec\.steps\[1\]\.dependsOn\[0\]: there is no step 'payy'\n {2}did you mean 'pay'\?/,
    )
    const json = (await petrel('deploy', wrong, files[1] as string, '--json')).json()
    expect(json).toMatchObject([
      { file: wrong, error: { code: 'invalid_definition', details: { problems: [{ line: 8 }] } } },
      { file: files[1], what: 'unchanged', definition: { name: 'b-child', version: '1' } },
    ])
    expect((await petrel('definitions', '--json')).json().definitions.map((d: any) => d.name)).not.toContain('wrong')
  })

  it('definitions lists, shows and retires', async () => {
    await deploy('listed', { version: '1' })
    await deploy('listed', { version: '2', trigger: '{ event: listed.event, condition: amount > 5 }' })
    const { out } = await petrel('definitions')
    expect(out).toMatch(/NAME +VERSION +DIALECT +STARTS/)
    expect(out).toMatch(/listed +2 +dag +on listed\.event if amount > 5/)
    const shown = await petrel('definitions', 'show', 'listed')
    expect(shown.out).toMatch(/^listed 2 {2}dag\nstarts {4}on listed\.event if amount > 5\n/)
    expect(shown.out).toMatch(/\n2 +.*latest\n1 /)
    const old = await petrel('definitions', 'show', 'listed', '--version', '1', '--source')
    expect(old.out).toBe(workflow('listed', { version: '1' }))
    const retired = await petrel('definitions', 'retire', 'listed', '--version', '2')
    expect(retired.out).toBe('listed is retired: version 2; deploying it again puts it back\n')
    expect((await petrel('definitions', 'show', 'listed', '--json')).json().definition.version).toBe('1')
    const unknown = await petrel('definitions', 'show', 'listd')
    expect([unknown.code, unknown.err]).toEqual([3, expect.stringContaining("did you mean 'listed'?")])
  })

  it('start: by name, by version, under a key', async () => {
    await deploy('started', { version: '1' })
    await deploy('started', { version: '2' })
    const made = await petrel('start', 'started', '--version', '1', '--input', '{"a": 1}', '--key', 'key:1')
    expect([made.code, made.err]).toEqual([0, ''])
    const id = /^instance ([0-9a-f-]{36}) of started 1 is running; `petrel watch \1` follows it\n$/.exec(made.out)?.[1]
    expect(id).toBeDefined()
    expect((await petrel('start', 'started', '--key', 'key:1')).out).toContain(
      `taken by instance ${id}, which is running`,
    )
  })

  it('start: the id of an idle instance starts it', async () => {
    await deploy('lazy')
    const idle = (await petrel('start', 'lazy', '--idle', '--correlation', 'c-1', '--json')).json()
    expect(idle).toMatchObject({ created: true, definition: { version: '1' }, instance: { state: 'idle' } })
    const begun = await petrel('start', idle.id)
    expect([begun.code, begun.out]).toEqual([0, `lazy ${idle.id} is running; \`petrel watch ${idle.id}\` follows it\n`])
    const again = await petrel('start', idle.id)
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('only an idle one can be started')])
    const both = await petrel('start', idle.id, '--input', '{}')
    expect([both.code, both.err]).toEqual([2, expect.stringContaining('--input is for a new instance')])
  })

  it('start: an unknown name, and invalid JSON', async () => {
    await deploy('started')
    const unknown = await petrel('start', 'startd', '--json')
    expect([unknown.code, JSON.parse(unknown.err).error.details.did_you_mean]).toEqual([3, 'started'])
    expect((await petrel('start', 'started', '--input', 'x')).code).toBe(2)
    expect((await petrel('start', 'started', '--meta', '[]')).code).toBe(2)
  })

  it('event: starts the listening definitions once per id, and reports those that do not start, with the reason', async () => {
    await deploy('heard', { trigger: '{ event: shop.sold, condition: amount > 5 }' })
    const few = await petrel('event', 'shop.sold', '--payload', '{"amount": 1}')
    expect([few.code, few.out]).toEqual([
      0,
      expect.stringContaining('heard does not start: the condition does not hold'),
    ])
    const sold = await petrel('event', 'shop.sold', '--payload', '{"amount": 9}', '--id', 'e1')
    const id = /^shop\.sold starts heard 1: instance ([0-9a-f-]{36})\n$/.exec(sold.out)?.[1]
    expect(id).toBeDefined()
    const again = (await petrel('event', 'shop.sold', '--payload', '{"amount": 9}', '--id', 'e1', '--json')).json()
    expect(again).toEqual({
      id: 'e1',
      started: [{ name: 'heard', version: '1', instance_id: id, created: false }],
      passed: [],
    })
    const unknown = await petrel('event', 'shop.solde')
    expect([unknown.code, unknown.err]).toEqual([3, expect.stringContaining("did you mean 'shop.sold'?")])
    expect((await petrel('event', 'shop.sold', '--payload', '{')).code).toBe(2)
  })

  it('retry --input: the new instance has another input and the results of the old one', async () => {
    sh.write('handlers.mjs', HANDLERS)
    await deploy('retried', { step: 'test.fail' })
    const { id } = (await petrel('start', 'retried', '--input', '{"v": 1}', '--json')).json()
    const worker = sh.start('worker', '--handlers', 'handlers.mjs', '--store', store())
    expect((await petrel('watch', id)).code).toBe(1)
    const wrong = await petrel('retry', id, '--input', '{v: 2}')
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('--input is not JSON')])
    const retried = (await petrel('retry', id, '--input', '{"v": 2}', '--json')).json()
    expect(retried).toMatchObject({ created: true, retry_of: id, instance: { id: retried.id, retry_of: id } })
    await petrel('watch', retried.id)
    const shown = (await petrel('show', retried.id, '--json')).json()
    const ship = shown.runs.find((run: any) => run.node === 'ship')
    const { payload } = (await petrel('show', ship.id, '--json')).json()
    expect([payload.input, payload.results.pay.input]).toEqual([{ v: 2 }, { v: 1 }])
    worker.child.kill('SIGTERM')
    await worker.ended
  })

  it('context: prints, writes, removes', async () => {
    await deploy('patched')
    const { id } = (await petrel('start', 'patched', '--idle', '--json')).json()
    expect((await petrel('context', id)).out).toBe('the context is empty\n')
    const set = await petrel('context', id, 'a=1', 'note="two words"')
    expect([set.code, set.out]).toEqual([0, 'a = 1\nnote = "two words"\n'])
    expect((await petrel('context', id, 'a=null', '--json')).json()).toMatchObject({
      instance: { id },
      context: { note: 'two words' },
    })
  })

  it('context: reports mistakes in a patch', async () => {
    await deploy('patched')
    const { id } = (await petrel('start', 'patched', '--idle', '--json')).json()
    for (const wrong of ['a', '=1', 'a=hello']) expect((await petrel('context', id, wrong)).code).toBe(2)
    await petrel('cancel', id)
    expect((await petrel('context', id, 'a=1')).code).toBe(1)
    expect((await petrel('context', 'nope', 'a=1')).code).toBe(3)
  })
}

describe('definitions at a shell (sqlite)', () => suite(() => `sqlite:${sh.dir}/native/petrel.db`))

describe.skipIf(postgresUrl() === null)('definitions at a shell (postgres)', () => {
  let database: FreshDatabase
  beforeAll(async () => {
    database = await freshDatabase()
  })
  afterAll(() => database.drop())
  suite(() => database.url)
})

describe('the command line', () => {
  it('--version before a command prints the version of Petrel', async () => {
    expect((await sh.petrel('--version')).out).toMatch(/^\d+\.\d+\.\d+/)
  })
})
