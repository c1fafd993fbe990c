import { describe, expect, it } from 'vitest'
import { type LogLine, linesIn, lineText, missingBefore } from './lines.ts'

const line = (attempt: number, number: number, fields = 'null'): string =>
  JSON.stringify({
    run_id: 'r',
    attempt,
    number,
    at: null,
    level: 'info',
    stream: null,
    text: `line ${number}`,
  }).replace('}', `,"fields":${fields}}`)

describe('lines of a log', () => {
  it('keep the digits of their fields', () => {
    const [one] = linesIn(`{"lines":[${line(1, 0, '{"order":12345678901234567890}')}]}`) as [LogLine]
    expect(one).toMatchObject({ attempt: 1, number: 0, text: 'line 0', fields: '{"order":12345678901234567890}' })
    expect(lineText(one)).toBe('-\t1\tinfo\tline 0\t{"order":12345678901234567890}')
  })

  it('that were not kept leave gaps, counted in each execution', () => {
    const lines = linesIn(`{"lines":[${line(1, 0)},${line(1, 4)},${line(2, 1)}]}`)
    expect(lines.map((one, i) => missingBefore(one, lines[i - 1]))).toEqual([0, 3, 1])
  })
})
