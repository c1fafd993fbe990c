/**
 * Pictures of workflows of every notation on both stores, while work succeeds, fails, is deferred, waits and is cancelled in any
 * order: segments cover each row without gaps, and changes put over an earlier marking give the current one.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import type { Marking, NodeMark } from '../../src/views/pictures/marking.ts'
import type { Timeline } from '../../src/views/pictures/timeline.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { type Drive, PLACES } from './drive.ts'
import { begin, open } from './specifications/stage.ts'

const TEXTS: { readonly [notation: string]: string } = {
  ojs: `
type: chain
name: jobs
steps:
  - { type: first, retry: { max_attempts: 2 } }
  - type: group
    jobs: [{ type: left }, { type: right }, { type: chain, steps: [{ type: inner }, { type: last }] }]
  - { type: after }
`,
  dag: `
apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: order }
spec:
  timeout: 1d
  failurePolicy: compensate
  steps:
    - { name: pay, uses: card.charge, timeout: 1h }
    - { name: stock, uses: stock.reserve, timeout: 1h, retryPolicy: { maxAttempts: 2, initialDelay: 1m, maxDelay: 1m } }
    - { name: ask, approval: true, timeout: 1d, dependsOn: [pay] }
    - { name: ship, uses: parcel.send, timeout: 1h, dependsOn: [ask, stock] }
  compensation:
    - { step: pay, uses: card.refund, timeout: 1h }
`,
  playbook: `
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: pages }
workload: { turns: 2 }
workflow:
  - step: begin
    set: { ctx.turn: "{{ (ctx.turn or 0) + 1 }}" }
    tool: { kind: noop }
    next:
      spec: { mode: exclusive }
      arcs: [{ step: begin, when: "{{ ctx.turn < workload.turns }}" }, { step: each }]
  - step: each
    loop: { in: "{{ [1, 2, 3] }}", iterator: page, spec: { mode: parallel, max_in_flight: 2 } }
    tool: { kind: noop }
    next: { arcs: [{ step: done }] }
  - step: done
    tool: { kind: noop }
`,
  net: `
kind: Net
version: 1
name: plain
nodes:
  a: { run: a, undo: undo.a, next: [b, g] }
  b: { run: b, next: [j] }
  g: { gate: Sure?, next: [j] }
  j: { pass: true, join: count, next: [c] }
  c: { run: c }
onFailure: compensate
`,
  saga: `
apiVersion: petrel.dev/v1
kind: Saga
metadata: { name: provision, version: 1 }
spec:
  deadline: 2m
  steps:
    - name: save_party
      command: { subject: refdata.v1.parties.save, body: { name: x } }
      compensation: { subject: refdata.v1.parties.delete, body: { name: x } }
    - name: save_account
      command: { subject: iam.v1.accounts.save, body: { email: y } }
`,
}

describe.each(PLACES)('pictures of every notation on $name', (place) => {
  it.each(Object.keys(TEXTS))('%s: whatever happens to its work', { timeout: 60_000 }, async (notation) => {
    const { start } = await readDefinition(`${notation}.yaml`, TEXTS[notation] as string)
    const happenings = fc.array(fc.nat(99), { minLength: 5, maxLength: 25 })
    const check = async (given: readonly number[]): Promise<void> => {
      const d = await open(place)
      try {
        const id = await d.start(start)
        const picture = new Picture(d, id)
        await picture.compare()
        for (const number of given) {
          await happening(d, id, number)
          await picture.compare()
        }
      } finally {
        await d.close()
      }
    }
    await fc.assert(fc.asyncProperty(happenings, check), { numRuns: 6, endOnFailure: true })
  })
})

const held = new WeakMap<Drive, Delivery[]>()

async function happening(d: Drive, id: string, number: number): Promise<void> {
  const mine = held.get(d) ?? []
  held.set(d, mine)
  if (number < 5) return void (await d.engine.cancelInstance({ id, actor: 'ann' }).catch(() => undefined))
  if (number < 15) return d.pass(61_000)
  if (number < 25) {
    const [gate] = await d.store.read.openGates({ instanceId: id, limit: 1 })
    if (gate !== undefined) await d.engine.answerGate({ gateId: gate.id, approved: number < 23, actor: 'ann' })
    return
  }
  if (number < 50 || mine.length === 0) {
    mine.push(...(await d.claim(1 + (number % 3))))
    return
  }
  const [work] = mine.splice(number % mine.length, 1) as [Delivery]
  if (number < 60) {
    await begin(d, work)
    mine.push(work)
  } else if (number < 66) {
    const report = { delivery: work, reportId: `p${work.runId}`, startedAt: null, wantNext: false } as const
    await d.session.settle({ ...report, outcome: { kind: number % 2 === 0 ? 'deferred' : 'released' } })
  } else if (number < 76) await d.fail(work)
  else await d.succeed(work)
}

class Picture {
  readonly #d: Drive
  readonly #id: string
  readonly #marks = new Map<string, object>()
  #seq: number | null = null

  constructor(d: Drive, id: string) {
    this.#d = d
    this.#id = id
  }

  async compare(): Promise<void> {
    const marking = async (after: number | null): Promise<Marking> =>
      (await this.#d.engine.marking({ instanceId: this.#id, after })) as Marking
    const changes = await marking(this.#seq)
    for (const mark of changes.nodes) this.#marks.set(mark.node.key, plain(mark))
    this.#seq = changes.seq
    expect([...this.#marks.values()]).toEqual((await marking(null)).nodes.map(plain))
    const { rows } = (await this.#d.engine.timeline({ instanceId: this.#id })) as Timeline
    for (const { segments, from, to } of rows) {
      if (from === to) continue
      expect([segments[0]?.from, segments.at(-1)?.to]).toEqual([from, to])
      for (const [at, segment] of segments.entries()) if (at > 0) expect(segment.from).toBe(segments[at - 1]?.to)
    }
  }
}

function plain({ node, state, attempts, startedAt, endedAt, items }: NodeMark): object {
  return { key: node.key, state, attempts, startedAt, endedAt, items }
}
