/** Lines of the history as events of the log: one line is one event, several or none. */
import { describe, expect, it } from 'vitest'
import { net, node, run } from '../../../../test/engine/drive.ts'
import { anInstance, T0 } from '../../../../test/store/rows.ts'
import type { InstanceRow, StoredEvent } from '../../../model/rows.ts'
import type { Json } from '../../../net/net.ts'
import type { ExecutionEvent } from './envelope.ts'
import { type Log, type LogRun, unfold } from './unfold.ts'

const EACH = { kind: 'each', items: null, body: run('playbook.step'), maxInFlight: 2, failFast: true } as const
const NET = net([
  node('a'),
  node('list', [], { work: EACH }),
  node('hardy', [], { work: { ...EACH, tolerant: true } }),
  node('route', [], { work: { kind: 'pass' } }),
  node('#end', [], { work: { kind: 'pass' } }),
])

function logWith(instance: Partial<InstanceRow> = {}, ran: Partial<LogRun> = {}): Log {
  const own = { id: 'r1', fire: 3, item: -1, attempt: 0, createdAt: T0, startedAt: null, firstStartedAt: null }
  const row: LogRun = { ...own, ...ran }
  return {
    instance: anInstance({ id: 'x', name: 'etl', dialect: 'playbook', ...instance }),
    nodes: new Map(NET.nodes.map((n) => [n.key, n])),
    runs: new Map([[row.id, row]]),
  }
}

function line(type: string, given: Partial<Omit<StoredEvent, 'data'>> & { readonly data?: Json } = {}): StoredEvent {
  const { data = null, ...rest } = given
  const own = { id: 1, runId: null, instanceId: 'x', seq: 7, type, node: null, actor: null, tenant: null, at: T0 + 500 }
  return { ...own, ...rest, data: data === null ? null : JSON.stringify(data) }
}

const ofRun = (type: string, data: Json = null) => line(type, { runId: 'r1', node: 'a', data })
const types = (events: readonly ExecutionEvent[]) => events.map(({ event_type }) => event_type)

describe('an execution', () => {
  it('that began at once has request and start at the time of its creation', () => {
    const events = unfold(logWith({ state: 'running', fires: 1 }), line('instance.created', { actor: 'ann' }))
    expect(types(events)).toEqual(['playbook.execution.requested', 'playbook.started', 'workflow.started'])
    expect(events.map(({ event_id }) => event_id)).toEqual(['7.1', '7.2', '7.3'])
    expect(events[0]).toMatchObject({
      execution_id: 'x',
      source: 'server',
      entity_type: 'playbook',
      parent_id: null,
      seq: 7,
      status: 'in_progress',
      timestamp: new Date(T0 + 500).toISOString(),
      payload: { name: 'etl', actor: 'ann' },
    })
  })

  it.each([
    ['idle', { state: 'idle', fires: 0, live: 0, open: 0 }],
    ['in the queue', { state: 'queued', fires: 0, live: 0, open: 0, queuedAt: T0 }],
    ['was queued, and has begun since', { state: 'running', fires: 2, queuedAt: T0 }],
    ['cancelled before it began', { state: 'cancelled', fires: 0, live: 0, open: 0 }],
  ] as const)('that is %s has only been requested so far', (_, row) => {
    expect(types(unfold(logWith(row), line('instance.created')))).toEqual(['playbook.execution.requested'])
  })

  it('that left the queue started then', () => {
    const events = unfold(logWith({ state: 'running', queuedAt: T0 }), line('instance.dequeued'))
    expect(types(events)).toEqual(['playbook.started', 'workflow.started'])
  })

  it.each([
    ['completed', 'success', 'success', 'success'],
    ['completed', 'partial', 'partial', 'error'],
    ['failed', 'failed', 'failed', 'error'],
    ['cancelled', 'cancelled', 'cancelled', 'skipped'],
  ] as const)('that ended %s with outcome %s finished as %s', (state, outcome, word, status) => {
    const error = state === 'failed' ? { error: { code: 'timeout', message: 'too slow' } } : {}
    const events = unfold(logWith({ state, outcome }), line(`instance.${state}`, { data: { outcome, ...error } }))
    expect(types(events)).toEqual(['workflow.finished', 'playbook.finished'])
    expect(events[1]).toMatchObject({ status, payload: { status: word, ...error } })
  })
})

describe('a step', () => {
  it('that succeeded has its start, its tasks and its end on one line', () => {
    const note = { task: 'get', kind: 'http', visit: 1, attempt: 1, at: T0 + 20, ms: 30, status: 'ok', last: true }
    const data = { started_at: new Date(T0 + 10).toISOString(), leased_by: 'w1', notes: [note] }
    const events = unfold(logWith(), ofRun('succeeded', data))
    expect(types(events)).toEqual([
      'step.started',
      'task.started',
      'task.attempt.started',
      'task.attempt.done',
      'task.done',
      'step.done',
    ])
    const [began, task, , tried, , done] = events
    expect(began).toMatchObject({
      event_id: 'r1.1',
      source: 'worker',
      step: 'a',
      step_run_id: 'a#3',
      run_id: 'r1',
      attempt: 1,
      timestamp: new Date(T0 + 10).toISOString(),
      payload: { worker: 'w1' },
    })
    expect(task).toMatchObject({ entity_type: 'task', entity_id: 'a.get', parent_id: 'a#3', task_run_id: 'r1/1' })
    expect(tried).toMatchObject({ attempt: 1, status: 'success', timestamp: new Date(T0 + 50).toISOString() })
    expect(done).toMatchObject({ event_id: '7.6', source: 'server', entity_type: 'step', entity_id: 'a', attempt: 1 })
  })

  it('whose task was retried has every attempt, and the rule that decided', () => {
    const error = { kind: 'server_error', code: '503', message: 'busy', retryable: true }
    const one = { task: 'get', kind: 'http', visit: 1, at: T0, ms: 1, status: 'error', error }
    const notes = [
      { ...one, attempt: 1, last: false, rule: { index: 0, do: 'retry', delay_s: 2 }, http: { status: 503 } },
      { ...one, attempt: 2, last: true, rule: { index: 1, do: 'fail' } },
    ]
    const failure = { code: 'server_error', message: 'busy', retryable: false }
    const events = unfold(logWith(), ofRun('failed', { attempt: 1, notes, error: failure }))
    expect(types(events)).toEqual([
      'task.started',
      'task.attempt.started',
      'task.attempt.failed',
      'policy.task.evaluated',
      'task.attempt.started',
      'task.attempt.failed',
      'policy.task.evaluated',
      'task.failed',
      'step.failed',
    ])
    expect(events[2]).toMatchObject({ attempt: 1, status: 'error', payload: { error, http: { status: 503 } } })
    expect(events[3]).toMatchObject({ payload: { index: 0, do: 'retry', delay_s: 2 } })
    expect(events.at(-1)).toMatchObject({ status: 'error', payload: { error: failure } })
  })

  it('a rule decides last: an error that continues is done, a success that fails is not', () => {
    const note = { task: 't', kind: 'noop', visit: 1, attempt: 1, at: T0, ms: 0, last: true }
    const last = (status: string, verb: string) =>
      unfold(logWith(), ofRun('succeeded', { notes: [{ ...note, status, rule: { index: 0, do: verb } }] })).at(-2)
    expect(last('error', 'continue')?.event_type).toBe('task.done')
    expect(last('ok', 'fail')?.event_type).toBe('task.failed')
    expect(last('error', 'retry')?.event_type).toBe('task.failed')
  })

  it('that was postponed has its start once, and no end', () => {
    const notes = [{ task: 't', kind: 'http', visit: 1, attempt: 1, at: T0, ms: 5, status: 'error', last: false }]
    const started_at = new Date(T0).toISOString()
    const before = unfold(logWith(), ofRun('returned', { run_at: '2030-01-01T00:00:00Z', started_at, notes }))
    expect(types(before)).toEqual(['step.started', 'task.started', 'task.attempt.started', 'task.attempt.failed'])
    const resumed = { event: 'pipeline.resumed', task: 't', visit: 1, attempt: 2 }
    const after = unfold(logWith(), ofRun('succeeded', { started_at, notes: [resumed] }))
    expect(types(after)).toEqual(['step.done'])
  })

  it('whose worker was lost is retried: the second start is the second attempt', () => {
    const started_at = new Date(T0).toISOString()
    const error = { code: 'worker_lost', message: 'gone' }
    const lost = unfold(logWith({}, { attempt: 1 }), ofRun('retried', { attempt: 1, started_at, error }))
    expect(lost.map(({ event_type, attempt }) => [event_type, attempt])).toEqual([
      ['step.started', 1],
      ['step.retried', 1],
    ])
    const again = unfold(logWith({}, { attempt: 1 }), ofRun('succeeded', { started_at }))
    expect(again.map(({ event_id, attempt }) => [event_id, attempt])).toEqual([
      ['r1.2', 2],
      ['7.2', 2],
    ])
  })

  it.each([
    ['behind', -3_600_000, [0, 0, 0, 0, 0, 500]],
    ['a little behind', -30, [0, 0, 0, 20, 20, 500]],
    ['right', 0, [10, 20, 20, 50, 50, 500]],
    ['ahead', 3_600_000, [500, 500, 500, 500, 500, 500]],
  ])(
    'whose worker has a clock that is %s: no event is dated before the run existed, or after its end',
    (_, off, times) => {
      const note = {
        task: 't',
        kind: 'http',
        visit: 1,
        attempt: 1,
        at: T0 + 20 + off,
        ms: 30,
        status: 'ok',
        last: true,
      }
      const events = unfold(
        logWith(),
        ofRun('succeeded', { started_at: new Date(T0 + 10 + off).toISOString(), notes: [note] }),
      )
      expect(events.map(({ timestamp }) => Date.parse(timestamp) - T0)).toEqual(times)
    },
  )

  it('held by a worker over HTTP takes its start from its row, since its line has none', () => {
    const events = unfold(logWith({}, { firstStartedAt: T0 + 3, startedAt: T0 + 3 }), ofRun('succeeded'))
    expect(events[0]).toMatchObject({ event_type: 'step.started', timestamp: new Date(T0 + 3).toISOString() })
  })

  it('that never began and never will is skipped', () => {
    const events = unfold(logWith(), ofRun('cancelled'))
    expect(events).toMatchObject([{ event_type: 'step.failed', status: 'skipped', payload: { cancelled: true } }])
  })

  it('without a run has its start and its end with its firing and its routing', () => {
    const of = (type: string, data: Json) => unfold(logWith(), line(type, { node: 'route', data }))
    expect(types(of('node.fired', { fire: 4, kind: 'pass' }))).toEqual(['step.scheduled', 'step.started'])
    const routed = of('node.routed', {
      fire: 4,
      status: 'succeeded',
      mode: 'every',
      arcs: 3,
      taken: [0, 2],
      to: ['a', 'list'],
    })
    expect(types(routed)).toEqual(['step.done', 'next.evaluated'])
    expect(routed[1]).toMatchObject({
      step_run_id: 'route#4',
      payload: { mode: 'inclusive', arcs: 3, selected: [0, 2], steps: ['a', 'list'] },
    })
  })

  it('without arcs has nothing to route; if none of its arcs matched it reports that', () => {
    const of = (data: Json) => unfold(logWith(), line('node.routed', { node: 'a', data }))
    expect(of({ fire: 3, status: 'succeeded', mode: 'first', arcs: 0, taken: [], to: [] })).toEqual([])
    expect(of({ fire: 3, status: 'succeeded', mode: 'first', arcs: 2, taken: [], to: [] })).toMatchObject([
      { event_type: 'next.evaluated', status: 'skipped', payload: { mode: 'exclusive', steps: [] } },
    ])
  })

  it.each([
    ['node.admitted', { fire: 3, rule: 0 }, 'success', { allow: true, rule: 0 }],
    ['node.held', { token: 5, rule: 1 }, 'paused', { allow: false, token: 'held', rule: 1 }],
    ['node.discarded', { rule: null }, 'skipped', { allow: false, token: 'discarded', rule: null }],
  ] as const)('admission: %s', (type, data, status, payload) => {
    const events = unfold(logWith(), line(type, { node: 'a', data }))
    expect(events).toMatchObject([{ event_type: 'policy.admit.evaluated', status, payload }])
  })
})

describe('a loop', () => {
  const of = (type: string, name: string, data: Json) => unfold(logWith(), line(type, { node: name, data }))

  it('reports that it opened and closed, with its numbers', () => {
    const opened = of('each.opened', 'list', { fire: 3, total: 9, max: 2 })
    expect(types(opened)).toEqual(['step.scheduled', 'step.started', 'loop.started'])
    expect(opened[2]).toMatchObject({ entity_type: 'loop', payload: { total: 9, max_in_flight: 2 } })
    const closed = of('each.closed', 'list', { fire: 3, total: 9, success: 9, failed: 0 })
    expect(types(closed)).toEqual(['loop.done', 'step.done'])
    expect(closed[0]?.payload).toEqual({ stats: { total: 9, success: 9, failed: 0 } })
  })

  it('with failed items has failed, unless it may have some', () => {
    const data = { fire: 3, total: 9, success: 7, failed: 2 }
    expect(types(of('each.closed', 'list', data))).toEqual(['step.failed'])
    expect(types(of('each.closed', 'hardy', data))).toEqual(['loop.done', 'step.done'])
  })

  it('reports its items as iterations', () => {
    const log = logWith({}, { item: 4 })
    const started_at = new Date(T0).toISOString()
    const item = (type: string, data: Json = null) => unfold(log, line(type, { runId: 'r1', node: 'list', data }))
    expect(item('created')).toMatchObject([
      { event_type: 'loop.iteration.scheduled', iteration: 4, entity_id: 'list[4]', step_run_id: 'list#3' },
    ])
    expect(types(item('succeeded', { started_at }))).toEqual(['loop.iteration.started', 'loop.iteration.done'])
    expect(types(item('failed', { started_at, attempt: 1 }))).toEqual([
      'loop.iteration.started',
      'loop.iteration.failed',
    ])
    expect(of('node.fired', 'list', { fire: 3, item: 2, kind: 'child' })).toMatchObject([
      { event_type: 'loop.iteration.scheduled', iteration: 2, step_run_id: 'list#3' },
      { event_type: 'loop.iteration.started', iteration: 2, step_run_id: 'list#3' },
    ])
    expect(of('node.item_ended', 'list', { fire: 3, item: 2, status: 'failed' })).toMatchObject([
      { event_type: 'loop.iteration.failed', iteration: 2 },
    ])
  })
})

it('compiler-generated nodes and foreign notes are not shown', () => {
  expect(unfold(logWith(), line('node.fired', { node: '#end', data: { fire: 9, kind: 'pass' } }))).toEqual([])
  const odd = [null, 7, 'x', { task: 1 }, { task: 't', visit: 'x', attempt: 1, at: 0, ms: 0 }]
  expect(types(unfold(logWith(), ofRun('succeeded', { notes: odd })))).toEqual(['step.done'])
})
