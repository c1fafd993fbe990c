import { describe, expect, it } from 'vitest'
import { parseMoment } from '../../../kernel/moments.ts'
import { BodyNotes, Part } from '../../../kernel/reading/part.ts'
import { readMoment } from './time.ts'

const NOW = Date.UTC(2030, 0, 1)

describe('parseMoment', () => {
  it.each(['2099-12-31T23:59:59Z', '2030-01-31T09:00:00.123456Z', '2030-01-31T09:00:00+02:00', '2028-02-29t00:00:00z'])(
    'reads %s and keeps its text',
    (text) => {
      expect(parseMoment(text, NOW)).toEqual({ at: Date.parse(text), text, inMs: null })
    },
  )

  it.each([
    ['+PT2S', 2000],
    ['+PT0S', 0],
    ['+P1D', 86_400_000],
  ])('counts %s from now and shows the resulting time', (text, ms) => {
    expect(parseMoment(text, NOW)).toEqual({ at: NOW + ms, text: new Date(NOW + ms).toISOString(), inMs: ms })
  })

  it.each([
    'tomorrow',
    '',
    '2030-01-31',
    '2030-01-31T09:00:00',
    '2030-02-30T00:00:00Z',
    '2030-13-01T00:00:00Z',
    '+2s',
    'PT2S',
  ])('refuses %j', (text) => {
    expect(parseMoment(text, NOW)).toBeNull()
  })
})

describe('readMoment', () => {
  const read = (value: unknown) => {
    const notes = new BodyNotes()
    return { moment: readMoment(new Part(notes, value, ['at']), 'at', NOW), mistakes: notes.mistakes.length }
  }

  it('returns none for none', () => {
    expect([read(undefined), read(null)]).toEqual([
      { moment: null, mistakes: 0 },
      { moment: null, mistakes: 0 },
    ])
  })

  it('refuses numbers, and the year 9999, which means: not before it is activated', () => {
    expect([read(1893456000), read('9999-01-01T00:00:00Z')]).toEqual([
      { moment: null, mistakes: 1 },
      { moment: null, mistakes: 1 },
    ])
  })
})
