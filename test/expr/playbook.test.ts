/** The names in playbooks, in terms of what a net provides. */
import { describe, expect, it } from 'vitest'
import { compileExpression, compileTemplate, ExprError, evaluate, newEvaluator, render } from '../../src/expr/index.ts'
import type { Json } from '../../src/net/net.ts'
import { playbookVocabulary, stepResult } from '../../src/notations/playbook/vocabulary/index.ts'

const answer = {
  status_code: 200,
  headers: { etag: 'x' },
  data: { items: [1, 2], next: null },
  body: { items: [1, 2], next: null },
}

const net: { readonly [name: string]: Json } = {
  input: { url: 'http://x', limit: 5, shadowed: 'workload', nothing: null, item: 'of the workload' },
  url: 'http://x',
  limit: 5,
  nothing: null,
  ctx: { page: 2, shadowed: 'ctx' },
  shadowed: 'workload',
  args: { id: 7 },
  results: { fetch: answer, rows: [1, 2, 3], later: null },
  fetch: answer,
  rows: [1, 2, 3],
  later: null,
  event: { node: 'fetch', kind: 'run', status: 'succeeded', ok: true, error: null, result: answer },
  $place: { instance: 'i-1' },
}

const playbook = newEvaluator(playbookVocabulary)

function value(source: string, more: { readonly [name: string]: Json } = {}): Json {
  return playbook.value(source, { ...net, ...more })
}

function gives(cases: readonly (readonly [string, Json])[], more: { readonly [name: string]: Json } = {}): void {
  it.each(cases)('%s gives %j', (source, expected) => {
    expect(value(source, more)).toEqual(expected)
  })
}

describe('names', () => {
  gives([
    ['workload.limit', 5],
    ['limit', 5],
    ['ctx.page', 2],
    ['page', 2],
    ['ctx.limit', 5],
    ['ctx.shadowed ~ shadowed ~ workload.shadowed', 'ctxctxworkload'],
    ['ctx | length', 6],
    ['args.id == input.id', true],
    ['execution_id == job.uuid', true],
    ['execution_id', 'i-1'],
    ['nothing is none', true],
    ['item', 'of the workload'],
    ['absent is defined', false],
    ['absent.deeper[0] | default(3)', 3],
    ['iter.x is defined or loop.index is defined', false],
    ["later | default('not yet')", 'not yet'],
    ['results.fetch.status_code', 200],
  ])

  it('are composed of names of the net', () => {
    expect(playbook.names('workload.a and ctx.b')).toEqual([['input'], ['ctx', 'b']])
    expect(playbook.names('fetch.x')).toEqual([['$place'], ['results', 'fetch'], ['ctx', 'fetch'], ['fetch']])
    expect(playbook.names("event.name == 'loop.done' and output.error is none")).toEqual([['event']])
    expect(playbook.names('output.rows')).toEqual([['event'], ['event', 'result']])
    expect(playbook.names('visit.stats.failed')).toEqual([
      ['$place'],
      ['results', 'visit', 'stats'],
      ['ctx', 'visit'],
      ['visit', 'stats'],
    ])
    expect(playbook.names('iter.x')).toEqual([['$place'], ['item']])
    expect(playbook.names('item')).toEqual([['$place'], ['results', 'item'], ['ctx', 'item'], ['input']])
    expect(playbook.templateNames({ a: '{{ given(b=ctx.b) }}' })).toEqual([['ctx', 'b'], ['input']])
  })

  it('do not include those of secrets', () => {
    expect(() => playbook.names('keychain.db.password')).toThrow(ExprError)
    expect(() => playbook.names('keychain.db.password')).toThrow(/only the fields of a tool can read secrets/)
  })

  it('use the time of the transaction', () => {
    expect(playbook.names('now()')).toEqual([])
    expect(playbook.at(0).value('now()', {})).toBe('1970-01-01T00:00:00.000Z')
    expect(() => playbook.value('now()', {})).toThrow(/now\(\) is not available/)
  })
})

describe('the result of a step', () => {
  gives([
    ['rows', [1, 2, 3]],
    ['rows.data', [1, 2, 3]],
    ['rows.data.data[0]', 1],
    ['rows[-1]', 3],
    ['fetch.status_code', 200],
    ['fetch.data.items', [1, 2]],
    ['fetch.body.items', [1, 2]],
    ['fetch.items', [1, 2]],
    ["fetch['items'][0]", 1],
    ["fetch.get('items') == fetch.get('body').get('items')", true],
    ["fetch.get('nope', 3)", 3],
    ['fetch.next is none', true],
    ['fetch.nope is defined', false],
    ['(fetch | default({})).items', [1, 2]],
    ['(fetch or rows).items', [1, 2]],
    ['(fetch if rows else rows).items', [1, 2]],
  ])

  it('is the plain value to all other readers', () => {
    expect(value('fetch')).toBe(answer)
    expect(value('fetch == {} or fetch | length')).toBe(4)
    expect(value('fetch | tojson | fromjson')).toEqual(answer)
    expect(value("'items' in fetch or 'data' in rows")).toBe(false)
    expect(value('rows == [1, 2, 3] and [1, 2, 3] == rows')).toBe(true)
    expect(value('fetch | list')).toEqual(['status_code', 'headers', 'data', 'body'])
    expect(value('[rows, {"a": rows}]')).toEqual([[1, 2, 3], { a: [1, 2, 3] }])
    expect(playbook.render('{% for r in rows %}{{ r }}{% endfor %} {{ rows }}', net)).toBe('123 [1, 2, 3]')
    expect(playbook.render({ all: '{{ fetch }}', body: '{{ fetch.data }}' }, net)).toEqual({
      all: answer,
      body: answer.data,
    })
    expect(playbook.render('{% set r = fetch %}{{ r.items }}.', net)).toBe('[1, 2].')
  })

  it('is the whole result if it has no data, and its data if it has', () => {
    expect(value('step.data.data', { results: { step: { data: { data: 1 } } } })).toBe(1)
    expect(value('step.data', { results: { step: { a: 1 } } })).toEqual({ a: 1 })
    expect(value('step.data', { results: { step: 'text' } })).toBe(null)
  })
})

describe('the name of an event', () => {
  gives([
    ["event.name == 'step.done' and event.name == 'call.done' and event.name == 'step.exit'", true],
    ["'call.done' == event.name", true],
    ["event.name != 'call.done' or 'call.done' != event.name", false],
    ["event.name == 'loop.done' or event.name == 'call.error'", false],
    ["event.name in ['call.done', 'x'] and event.name in ('call.done',) and event.name in {'call.done': 1}", true],
    ["event.name not in ['call.error', 'loop.done']", true],
    ["'call.done' in [event.name]", true],
    ["event.name is eq('call.done') and event.name is in ['step.exit'] and event.name is not ne 'call.done'", true],
    ["(event.name | default('')) == 'call.done'", true],
    ['event.name == event.name', true],
    ["event.name ~ '!'", 'step.done!'],
    ['event.name', 'step.done'],
    ['[event.name]', ['step.done']],
    ['event.name | upper', 'STEP.DONE'],
  ])

  const failure = {
    code: 'rate_limit',
    message: 'too many',
    details: {
      task: 't',
      error: { kind: 'rate_limit', retryable: true, code: 'HTTP_429', message: 'too many' },
      http: { status: 429 },
    },
  }
  const failed = { event: { node: 'fetch', kind: 'each', status: 'failed', ok: false, error: failure, result: null } }

  describe('of a failure', () => {
    gives(
      [
        ["event.name == 'step.failed' and event.name == 'call.error'", true],
        ["event.name == 'call.done' or event.name == 'loop.done'", false],
        ['event.status ~ output.status ~ outcome.status', 'errorerrorerror'],
        ['event.error.kind', 'rate_limit'],
        ['output.error.code ~ output.http.status', 'HTTP_429429'],
        ['output.data is none and outcome.result is none', true],
        ['event.step', 'fetch'],
      ],
      failed,
    )

    it('without a tool keeps its code', () => {
      const event = { node: 'a', status: 'failed', ok: false, error: { code: 'timeout', message: 'late' } }
      expect(value('output.error', { event })).toEqual({
        kind: 'timeout',
        retryable: false,
        code: 'timeout',
        message: 'late',
      })
    })
  })

  it('of a loop is only loop.done', () => {
    const event = { node: 'each', kind: 'each', status: 'succeeded', ok: true, error: null, result: { results: [] } }
    expect(value("event.name == 'loop.done' and event.name not in ['step.done', 'call.done']", { event })).toBe(true)
  })
})

describe('output and outcome', () => {
  gives([
    ['output.status', 'ok'],
    ['output.data.items == output.items', true],
    ['output.data.data.items', [1, 2]],
    ['outcome.result.items', [1, 2]],
    ['outcome.result.data.items', [1, 2]],
    ['output.error is none', true],
    ['output | list', ['status', 'data', 'error']],
    ['outcome | list', ['status', 'result', 'error']],
    ['event.payload.result.items == event.payload.items', true],
    ['event | list', ['name', 'step', 'status', 'error', 'payload']],
  ])
})

describe('inside a loop', () => {
  const place = { $place: { instance: 'i-1', index: 0, total: 2, as: 'item' }, item: { id: 9 } }
  gives(
    [
      ['item.id ~ iter.item.id', '99'],
      ['iter.index ~ iter._index ~ loop.index ~ loop_index', '0000'],
      ['iter._first and loop.first and not iter._last and not loop.last', true],
      ['loop.length', 2],
    ],
    place,
  )

  it('the item hides other variables of its name', () => {
    const inside = { $place: { instance: 'i', index: 1, total: 2, as: 'shadowed' }, item: 'it', shadowed: 'it' }
    expect(value('shadowed ~ iter.shadowed ~ item', inside)).toBe('itit' + 'of the workload')
  })
})

describe('given', () => {
  it('leaves out undefined values, and keeps null', () => {
    expect(value('given(a=ctx.absent, b=nothing, c=page)')).toEqual({ b: null, c: 2 })
    expect(value("given({'x-y': workload['x-y'], 'l': limit})")).toEqual({ l: 5 })
    expect(value('given(fetch=fetch, later=later)')).toEqual({ fetch: answer })
  })
})

describe('external scopes', () => {
  it('may contain results', () => {
    const scope = { task: stepResult({ a: 1 }), own: { b: 2 } }
    expect(evaluate(compileExpression('task.data.a + own.b'), scope)).toBe(3)
    expect(render(compileTemplate({ whole: '{{ task }}', text: '{{ task }}!' }), scope)).toEqual({
      whole: { a: 1 },
      text: "{'a': 1}!",
    })
  })
})
