import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { HANDLERS, shell } from './petrel.ts'

const sh = shell()
let handlers: string

beforeAll(() => {
  handlers = sh.write('handlers.mjs', HANDLERS)
})

const NET = 'kind: Net\nversion: 1\nname: flow\n'

async function ls(...args: readonly string[]) {
  return (await sh.petrel('ls', '--json', ...args)).json().instances
}

describe('petrel run', () => {
  it('runs a chain with the handlers of a module and keeps it in the store', async () => {
    const file = sh.write(
      'chain.yaml',
      'type: chain\nname: chain\nsteps:\n  - { type: test.echo, args: [1] }\n  - { type: test.echo, args: [2] }\n',
    )
    const { code, json } = await sh.petrel('run', file, '--handlers', handlers, '--json')
    expect(code).toBe(0)
    expect(json()).toMatchObject({
      instance: { name: 'chain', dialect: 'ojs', state: 'completed', outcome: 'success', succeeded: 2 },
      error: null,
      results: { 0: [1], 1: [2] },
      runs: [
        { type: 'test.echo', status: 'succeeded' },
        { type: 'test.echo', status: 'succeeded' },
      ],
      waiting_for: [],
    })
    expect(await ls('--name', 'chain')).toHaveLength(1)
  })

  it('prints its steps line by line when piped, and a summary', async () => {
    const file = sh.write('echo.yaml', 'type: chain\nname: echo\nsteps: [{ type: test.echo }]\n')
    const { out } = await sh.petrel('run', file, '--handlers', handlers)
    expect(out).toMatch(/\+\d+ ms {2}0 +test\.echo +succeeded\n/)
    expect(out).toMatch(/^echo completed in \d+ ms: 1 succeeded, 0 failed/m)
  })

  it.each([
    ['an Error', 'test.fail', 'broken'],
    ['something that is no Error', 'test.text', 'only a text'],
    ['a result that is not JSON', 'test.opaque', 'bigint'],
  ])('exits 1 when a handler returns %s', async (_, type, message) => {
    const file = sh.write('failing.yaml', `type: chain\nname: failing\nsteps: [{ type: ${type}, retry: 1 }]\n`)
    const { code, out } = await sh.petrel('run', file, '--handlers', handlers)
    expect(code).toBe(1)
    expect(out).toContain('failing failed')
    expect(out).toContain(message)
  })

  it('exits 1 for compensated', async () => {
    const file = sh.write(
      'saga.yaml',
      `${NET}onFailure: compensate\nnodes:\n  a: { run: test.echo, undo: test.undo, next: b }\n  b: { run: test.fail, retry: 1 }\n`,
    )
    const { code, json } = await sh.petrel('run', file, '--handlers', handlers, '--json')
    expect(code).toBe(1)
    expect(json().instance).toMatchObject({ state: 'compensated', outcome: 'rolled_back' })
  })

  it('takes its input as JSON or from a file', async () => {
    const file = sh.write(
      'input.yaml',
      `${NET}input: { n: 0 }\nnodes:\n  a: { run: test.echo, args: '{{ input.n }}' }\n`,
    )
    const results = async (...args: readonly string[]) =>
      (await sh.petrel('run', file, '--handlers', handlers, '--json', ...args)).json().results.a
    expect(await results()).toBe(0)
    expect(await results('--input', '{"n": 5}')).toBe(5)
    expect(await results('--input', `@${sh.write('in.json', '{"n": [6]}')}`)).toEqual([6])
  })

  it.each([
    [['--input', '{nope'], 2, '--input is not JSON'],
    [['--input', '@none.json'], 3, 'there is no file none.json'],
    [['--handlers', 'none.mjs'], 3, 'there is no handlers module none.mjs'],
    [['--handlers', 'syntax.mjs'], 2, 'syntax.mjs cannot be loaded'],
    [['--handlers', 'nothing.mjs'], 2, 'nothing.mjs exports no handlers'],
    [['--handlers', 'number.mjs'], 2, "number.mjs: 'a.b' is no function"],
  ])('%j: exit %i', async (args, exit, message) => {
    sh.write('any.yaml', 'type: chain\nsteps: [{ type: a.b }]\n')
    sh.write('syntax.mjs', 'export default {')
    sh.write('nothing.mjs', 'export default {}')
    sh.write('number.mjs', "export default { 'a.b': 1 }")
    const { code, err } = await sh.petrel('run', 'any.yaml', ...args)
    expect([code, err]).toEqual([exit, expect.stringContaining(message)])
  })
})

describe('an instance that can only wait', () => {
  it('for a type without a handler is named and kept in the store', async () => {
    const file = sh.write('nobody.yaml', 'type: chain\nname: nobody\nsteps: [{ type: no.body }]\n')
    const { code, out } = await sh.petrel('run', file)
    expect(code).toBe(1)
    expect(out).toContain("0 waits for a worker that handles 'no.body'")
    expect(await ls('--name', 'nobody')).toMatchObject([{ state: expect.stringMatching(/queued|running/), open: 1 }])
  })

  it('for a gate: the gate is printed with its id, answered from another shell, and a worker continues', async () => {
    const file = sh.write(
      'gate.yaml',
      `${NET}nodes:\n  ask: { gate: Sure?, next: go }\n  go: { run: test.echo, args: [1] }\n`,
    )
    const first = await sh.petrel('run', file, '--handlers', handlers, '--data', 'gates')
    expect(first.code).toBe(1)
    const gate = /ask \(Sure\?\) waits for an answer: petrel approve (\S+)/.exec(first.out)?.[1] as string
    expect((await sh.petrel('approve', gate, '--data', 'gates', '--reason', 'fine')).out).toContain('approved')
    const again = await sh.petrel('reject', gate, '--data', 'gates')
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('already approved')])
    const [{ id }] = await ls('--data', 'gates')
    const worker = sh.start('worker', '--handlers', handlers, '--data', 'gates')
    expect((await sh.petrel('watch', id, '--data', 'gates')).code).toBe(0)
    worker.child.kill('SIGTERM')
    expect((await worker.ended).code).toBe(0)
  })

  it('with --wait it stays until an answer comes', async () => {
    const file = sh.write(
      'wait.yaml',
      `${NET}nodes:\n  ask: { gate: Sure?, next: go }\n  go: { run: test.echo, args: [1] }\n`,
    )
    const run = sh.start('run', file, '--handlers', handlers, '--data', 'waits', '--wait')
    await run.until(/waiting {2}gate (\S+)/)
    const gate = /gate (\S+)/.exec(run.out)?.[1] as string
    await sh.petrel('approve', gate, '--data', 'waits')
    expect(await run.ended).toMatchObject({ code: 0, out: expect.stringContaining('flow completed') })
  })

  it('for a completion by another process', async () => {
    const file = sh.write('defer.yaml', 'type: chain\nname: deferred\nsteps: [{ type: test.defer }]\n')
    const { code, json } = await sh.petrel('run', file, '--handlers', handlers, '--data', 'defers', '--json')
    expect(code).toBe(1)
    expect(json().waiting_for).toMatchObject([{ kind: 'completion', node: '0', id: json().runs[0].id }])
  })
})

describe('interrupted', () => {
  it('keeps the instance in the store, with the started work recorded', async () => {
    const marks = sh.write('marks.txt', '')
    const file = sh.write(
      'slow.yaml',
      `type: chain\nname: slow\nsteps:\n  - { type: test.slow, args: ['${marks}'] }\n  - { type: test.echo, args: [1] }\n`,
    )
    const run = sh.start('run', file, '--handlers', handlers, '--data', 'slow')
    while (!readFileSync(marks, 'utf8').includes('begin')) await new Promise((resolve) => setTimeout(resolve, 20))
    run.child.kill('SIGINT')
    const { code, out } = await run.ended
    expect(code).toBe(1)
    expect(out).toContain('interrupted')
    expect(readFileSync(marks, 'utf8')).toBe('begin\nend\n')
    const [instance] = await ls('--data', 'slow')
    expect(instance).toMatchObject({ state: 'running', succeeded: 1 })
  })
})
