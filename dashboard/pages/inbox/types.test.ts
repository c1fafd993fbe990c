import { describe, expect, it } from 'vitest'
import type { Pause } from '../../api/pauses.ts'
import { type Entry, takes, typesOf, type Worker } from './types.ts'

const entry = (name: string, runtime: string) => ({ workflow_name: name, runtime, is_enabled: true }) as Entry
const worker = (name: string, types: readonly string[], more: Partial<Worker> = {}) =>
  ({ name, types, state: 'running', runtime: 'node', ...more }) as Worker

describe('types of work', () => {
  it('are those that are registered, paused, or named by a worker', () => {
    const rows = typesOf([entry('b.v1', 'python')], new Map([['c.v1', { name: 'c.v1' } as Pause]]), [
      worker('w', ['a.v1', 'x.%']),
    ])
    expect(rows.map(({ type }) => type)).toEqual(['a.v1', 'b.v1', 'c.v1'])
    expect(rows[2]?.pause).not.toBeNull()
  })

  it('are taken by running workers, of the runtime of the entry if there is one', () => {
    const workers = [
      worker('any', []),
      worker('prefix', ['mail.%']),
      worker('python', ['mail.%'], { runtime: 'python' }),
      worker('quiet', [], { state: 'quiet' }),
    ]
    const names = (entries: readonly Entry[]) =>
      typesOf(entries, new Map([['mail.send.v1', {} as Pause]]), workers)[0]?.workers.map(({ name }) => name)
    expect(names([])).toEqual(['any', 'prefix', 'python'])
    expect(names([entry('mail.send.v1', 'python')])).toEqual(['python'])
  })

  it.each([
    ['a.%', 'a.b', true],
    ['%', 'anything', true],
    ['a.%.v1', 'a.b.v1', true],
    ['a.%.v1', 'a.v1', false],
    ['a', 'ab', false],
    ['%b%c', 'xbyc', true],
    ['%b%c', 'xcyb', false],
  ])('fit the pattern %s: %s, %s', (pattern, type, expected) => {
    expect(takes({ types: [pattern] }, type)).toBe(expected)
  })
})
