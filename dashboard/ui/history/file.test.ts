import { describe, expect, it } from 'vitest'
import type { HistoryEvent } from './events.ts'
import { historyText, readHistory } from './file.ts'
import { pastSteps } from './steps.ts'

const AT = '2026-11-20T00:00:00.000Z'
const event = (seq: number, type: string, node: string | null = null, data = 'null'): string =>
  `{"seq":${seq},"type":"${type}","at":"${AT}","instance_id":"i","run_id":${node === null ? 'null' : '"r"'},"node":${JSON.stringify(node)},"actor":null,"worker":"w","data":${data}}`
const VIEW =
  '{"instance":{"id":"i","name":"order","state":"failed","start_key":"k","created_at":"2026-11-20"},"error":{"code":"c","message":"no"},' +
  '"initiator":"ann","tags":["eu","<b>"],"meta":null,"input":{"id":12345678901234567890},"context":{},"results":{},"runs":[{}]}'

describe('a history as a file', () => {
  it('is read as it was written', () => {
    const text = historyText(VIEW, [event(1, 'instance.created'), event(2, 'created', 'pay')], AT)
    const file = readHistory(text)
    expect(file).toMatchObject({ name: 'order', id: 'i', state: 'failed', error: 'c: no', unreadable: 0 })
    expect(file.data).toEqual([
      ['input', '{"id":12345678901234567890}'],
      ['context', '{}'],
      ['results', '{}'],
    ])
    expect(file.facts).toEqual([
      ['start key', 'k'],
      ['created at', '2026-11-20'],
      ['initiator', 'ann'],
      ['tags', 'eu, <b>'],
      ['downloaded', AT],
    ])
    expect(file.events.map(({ seq, type }) => [seq, type])).toEqual([
      [1, 'instance.created'],
      [2, 'created'],
    ])
  })

  it('may be the answer of the server, or its list of events alone', () => {
    const events = [event(1, 'instance.created'), '{"id":7,"error":{}}']
    expect(readHistory(`{"events":[${events.join(',')}],"next_after":2}`)).toMatchObject({ name: null, unreadable: 1 })
    expect(readHistory(`[${events.join(',')}]`).events).toHaveLength(1)
  })

  it('that is hostile is refused with what is wrong', () => {
    const wrong = (text: string): string => {
      try {
        readHistory(text)
        return 'accepted'
      } catch (error) {
        return (error as Error).message
      }
    }
    expect(wrong(' ')).toBe('The file is empty.')
    expect(wrong('<script>alert(1)</script>')).toMatch(/^The file is not valid JSON: /)
    expect(wrong('"text"')).toBe('The file has a string instead of a history.')
    expect(wrong('null')).toBe('The file has null instead of a history.')
    expect(wrong('{"events":{"0":1}}')).toMatch(/^The file has no list of events/)
    expect(wrong('{"format":"other.v2","events":[]}')).toMatch(/^The file has the format 'other.v2'/)
    expect(wrong('[1,null,"x",[],{"type":{"a":1},"at":5}]')).toBe('None of the entries of the file is an event.')
    expect(wrong(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)).toMatch(/^(None|The file is not valid JSON)/)
  })

  it('whose names are those of prototypes changes nothing', () => {
    const file = readHistory(
      `{"__proto__":{"polluted":true},"instance":{"__proto__":{"name":"x"},"name":["a"]},"tags":{"a":1},"error":7,"events":[${event(1, 'created', '__proto__')}]}`,
    )
    expect([file.name, file.error, ({} as { readonly polluted?: boolean }).polluted]).toEqual([null, '7', undefined])
    expect(pastSteps(file.events).map(({ name }) => name)).toEqual(['__proto__'])
  })
})

describe('the steps of a history', () => {
  const past = (...all: readonly (readonly [string, string, string?])[]) =>
    pastSteps(
      all.map(
        ([type, node, data = null], i): HistoryEvent => ({
          seq: i + 1,
          type,
          at: `2026-11-20T00:00:0${i}.000Z`,
          node,
          run: 'r',
          who: 'w',
          data,
        }),
      ),
    )

  it('have the state after the last event', () => {
    const states = past(
      ['created', 'a'],
      ['retried', 'a', '{"started_at":"2026-11-20T00:00:00.500Z","error":{"message":"busy"}}'],
      ['succeeded', 'a'],
      ['created', 'b'],
      ['failed', 'b', '{"error":{"message":"no"}}'],
      ['created', 'c'],
      ['gate.opened', 'd'],
      ['gate.approved', 'd'],
    )
    expect(states.map(({ name, state, failures, error }) => [name, state, failures, error])).toEqual([
      ['a', 'completed', 1, 'busy'],
      ['b', 'failed', 1, 'no'],
      ['c', 'pending', 0, null],
      ['d', 'completed', 0, null],
    ])
    expect(states[0]).toMatchObject({ startedAt: '2026-11-20T00:00:00.500Z', endedAt: '2026-11-20T00:00:02.000Z' })
  })

  it('that failed and were done again have completed', () => {
    expect(past(['created', 'a'], ['failed', 'a'], ['redriven', 'a'], ['succeeded', 'a'])[0]?.state).toBe('completed')
    expect(past(['created', 'a'], ['failed', 'a'], ['node.skipped', 'a'])[0]?.state).toBe('skipped')
  })
})
