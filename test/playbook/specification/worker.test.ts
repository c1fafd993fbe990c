/** §1.2: the duties of the worker. The rest of §1.2 belongs to the server, and is in the other files here. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { InstanceRow } from '../../../src/model/rows.ts'
import type { Net } from '../../../src/net/net.ts'
import { SLOT } from '../../../src/net/slots.ts'
import { FROM_THE_BEGINNING } from '../../../src/notations/interface/events.ts'
import { loadEvents } from '../../../src/notations/playbook/project/events.ts'
import { PLACES } from '../../engine/drive.ts'
import { Performance } from '../performance.ts'
import { playbook } from '../stage.ts'

describe.each(PLACES)('§1.2 the worker on $name', (place) => {
  let performance: Performance
  beforeAll(async () => {
    performance = await Performance.open(place)
  }, 60_000)
  afterAll(() => performance.close())

  /** Runs a step of three tasks; the second fails unless n is 0, and has this rule for it. */
  const play = async (rule: string, workload: { readonly n: number }) => {
    const steps = `workload: { n: 0 }
workflow:
  - step: work
    tool:
      - { name: one, kind: noop, result: 1, set: { ctx.seen: "{{ (ctx.seen or []) + ['one'] }}" } }
      - name: two
        kind: shell
        cmd: "test {{ workload.n }} = 0"
        spec:
          policy:
            rules:
              - { when: "{{ output.status == 'error' }}", then: ${rule} }
              - { else: { then: { do: continue, set: { ctx.seen: "{{ ctx.seen + ['two'] }}" } } } }
      - { name: three, kind: noop, result: 3, set: { ctx.seen: "{{ ctx.seen + ['three'] }}" } }
`
    const id = await performance.start(await performance.read(playbook(steps)), workload)
    const end = await performance.ended(id)
    const context = JSON.parse(
      (await performance.store.read.slot({ instanceId: id, key: SLOT.context.key('seen') })) as string,
    )
    return { id, end, seen: context as readonly string[], results: await performance.results(id) }
  }

  const log = async (id: string): Promise<readonly string[]> => {
    const row = (await performance.store.read.instance(id)) as InstanceRow
    const net = (await performance.engine.net(row.netHash)) as Net
    const asked = { after: FROM_THE_BEGINNING, limit: 1000, types: null }
    const { events } = await loadEvents(performance.engine, row, net, asked)
    return events
      .filter(({ step }) => step !== null)
      .map(({ event_type, attempt, entity_id }) => {
        return `${event_type} ${entity_id}${attempt === null || !event_type.includes('attempt') ? '' : ` ${attempt}`}`
      })
  }

  it('runs the tasks of a step in order; its result is that of the last', async () => {
    const { end, seen, results } = await play('{ do: fail }', { n: 0 })
    expect([end, seen, results]).toEqual(['completed: success', ['one', 'two', 'three'], { work: 3 }])
  })

  it.each([
    ['continue', '{ do: continue }', 'completed: success', ['one', 'three']],
    ['retry', '{ do: retry, attempts: 2, delay: 0 }', 'failed: failed', ['one']],
    ['jump', '{ do: jump, to: three }', 'completed: success', ['one', 'three']],
    ['break', '{ do: break }', 'completed: success', ['one']],
    ['fail', '{ do: fail }', 'failed: failed', ['one']],
  ])('applies the policy of a task: %s', async (_, rule, end, seen) => {
    expect(await play(rule, { n: 1 })).toMatchObject({ end, seen })
  })

  it('reports the outcome of every attempt, every task and the step', async () => {
    const { id } = await play('{ do: retry, attempts: 2, delay: 0 }', { n: 1 })
    expect(await log(id)).toEqual([
      'step.scheduled work',
      'step.started work',
      'task.started work.one',
      'task.attempt.started work.one 1',
      'task.attempt.done work.one 1',
      'task.done work.one',
      'task.started work.two',
      'task.attempt.started work.two 1',
      'task.attempt.failed work.two 1',
      'policy.task.evaluated work.two',
      'task.attempt.started work.two 2',
      'task.attempt.failed work.two 2',
      'policy.task.evaluated work.two',
      'task.failed work.two',
      'step.failed work',
    ])
  })
})
