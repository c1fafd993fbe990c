/**
 * Definitions of the maximal size. The time to read one grows with its size, not with its square, and a server reads
 * them in a separate thread, so that its other work continues.
 */
import { describe, expect, test } from 'vitest'
import { DefinitionError } from '../../src/notations/source/mistakes.ts'
import { readSource } from '../../src/notations/source/source.ts'
import { shell } from '../cli/petrel.ts'
import { client, request } from '../server/serving.ts'
import { Neighbour } from './neighbour.ts'

const STEPS = 10_000

describe('a large file', () => {
  test('of 40,000 keys is read, and a duplicate key is found with its line and path', () => {
    const keys = lines(40_000, (i) => `    key${i}: ${i}`)
    const { value } = readSource('keys.yaml', `a:\n  b:\n${keys}\n`)
    expect(Object.keys((value as { a: { b: object } }).a.b)).toHaveLength(40_000)
    const twice = `a:\n  b:\n${keys}\n    key7: again\nc: [{ d: 1, e: 2, d: 3 }]\n`
    expect(problems(twice)).toEqual([
      '40003:5 a.b.key7: Map keys must be unique',
      '40004:19 c[0].d: Map keys must be unique',
    ])
  }, 120_000)

  test.each([
    ['aliases of aliases', bomb(), 'Excessive alias count indicates a resource exhaustion attack'],
    ['many aliases of a long list', fat(), 'aliases make more than 2,000,000 values of the file'],
    ['very many anchors', anchors(), 'more than 5,000 anchors and aliases'],
    ['brackets without end', `a: ${'['.repeat(50_000)}`, 'the file is nested too deeply'],
    ['levels without end', lines(3_000, (i) => `${' '.repeat(i)}a:`), 'the file is nested too deeply'],
  ])('that consists of %s is refused', (_, text, message) => {
    expect(problems(text)[0]).toContain(message)
  })

  test('with very many mistakes is answered with the first of them', () => {
    const found = problems(lines(5_000, () => 'a: 1'))
    expect(found).toHaveLength(1_000)
    expect(found[0]).toBe('2:1 a: Map keys must be unique')
  })
})

describe('deploying large files to a server', () => {
  const sh = shell()

  test('delays no other work', async () => {
    const running = sh.start('server', '--port', '0', '--store', 'sqlite:petrel.db')
    const url = (await running.until(/http:\/\/\S+:\d+/))[0]
    const neighbour = await Neighbour.of(client(url))
    await neighbour.calm(3)
    const silences: number[] = []
    const took: number[] = []
    await neighbour.beside(async () => {
      for (const [name, text] of Object.entries(files())) {
        const began = performance.now()
        const [reply, silence] = await silenceDuring(url, deploy(url, text))
        expect([name, reply.status, reply.text.slice(0, 300)]).toEqual([name, 201, expect.any(String)])
        took.push(performance.now() - began)
        silences.push(silence)
      }
      const keys = `apiVersion: ioa.dev/v0.2\nkind: Workflow\n${lines(40_000, (i) => `key${i}: ${i}`)}\n`
      const [refused, silence] = await silenceDuring(url, deploy(url, keys))
      expect(refused.status).toBe(400)
      expect(refused.body.error.details.problems.length).toBeLessThanOrEqual(1_000)
      silences.push(silence)
    }, 3)
    await neighbour.expectUnaffected()
    // Read in the main thread, the longest of them blocked the server completely.
    expect(Math.max(...silences)).toBeLessThan(Math.max(...took) / 2 + 500)
    running.child.kill()
    await running.ended
  }, 240_000)
})

function files(): Record<string, string> {
  const head = 'apiVersion: ioa.dev/v0.2\nkind: Workflow\nmetadata: { name: large }\nspec:\n  steps:\n'
  const dag = lines(
    STEPS,
    (i) => `    - { name: s${i}, agent: a, action: act${i > 0 ? `, dependsOn: [s${i - 1}]` : ''} }`,
  )
  const playbook = lines(STEPS / 2, (i) => {
    const next = i < STEPS / 2 - 1 ? `, next: { arcs: [{ step: s${i + 1} }] }` : ''
    return `  - { step: s${i}, tool: { kind: noop }${next} }`
  })
  return {
    dag: `${head}${dag}\n`,
    playbook: `apiVersion: noetl.io/v2\nkind: Playbook\nmetadata: { name: long, path: long }\nworkflow:\n${playbook}\n`,
  }
}

function deploy(url: string, text: string): ReturnType<typeof request> {
  const headers = { 'content-type': 'application/yaml' }
  return request(`${url}/v1/definitions`, 'POST', { headers, body: text })
}

/** With the longest time for which the server left a small request unanswered meanwhile. */
async function silenceDuring<T>(url: string, work: Promise<T>): Promise<readonly [T, number]> {
  let longest = 0
  let going = true
  const asking = (async () => {
    while (going) {
      const began = performance.now()
      await request(`${url}/health`, 'GET')
      longest = Math.max(longest, performance.now() - began)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  })()
  const value = await work.finally(() => {
    going = false
  })
  await asking
  return [value, longest]
}

function problems(text: string): readonly string[] {
  try {
    readSource('x.yaml', text)
    return []
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    return error.problems.map((p) => `${p.line}:${p.column} ${p.path}: ${p.message}`)
  }
}

function lines(count: number, line: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => line(i)).join('\n')
}

function list(count: number, item: string): string {
  return `[${Array(count).fill(item).join(', ')}]`
}

function bomb(): string {
  return `a: &a ${list(9, '1')}\nb: &b ${list(9, '*a')}\nc: &c ${list(9, '*b')}\nd: &d ${list(9, '*c')}\ne: ${list(9, '*d')}\n`
}

function fat(): string {
  return `a: &a ${list(50_000, '1')}\nb: ${list(60, '*a')}\n`
}

function anchors(): string {
  return `${lines(6_000, (i) => `k${i}: &a${i} 1`)}\n${lines(6_000, (i) => `r${i}: *a${i}`)}\n`
}
