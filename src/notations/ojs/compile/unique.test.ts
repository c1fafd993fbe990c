import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { BodyNotes, Part } from '../../../kernel/reading/part.ts'
import { readUnique, type UniqueAsked, type UniqueOf } from './unique.ts'

const JOB: UniqueOf = {
  type: 'email.send',
  queue: 'mail',
  args: [{ user_id: 42, template: 'welcome' }, 'second'],
  meta: { tenant_id: 'acme', trace_id: 'abc' },
}

function read(policy: unknown, job: Partial<UniqueOf> = {}): { unique: UniqueAsked | null; mistakes: string[] } {
  const notes = new BodyNotes()
  const unique = readUnique(new Part(notes, policy, ['unique']), { ...JOB, ...job })
  return { unique, mistakes: notes.mistakes.map((m) => m.message) }
}

const keyOf = (policy: unknown, job: Partial<UniqueOf> = {}): string => read(policy, job).unique?.key ?? ''

describe('a unique policy', () => {
  it('is the SHA-256 of the canonical JSON of the named parts', () => {
    const text = '{"args":{"user_id":42},"queue":"mail","type":"email.send"}'
    const hash = createHash('sha256').update(text).digest('hex')
    expect(keyOf({ keys: ['type', 'queue', 'args'], args_keys: ['user_id'] })).toBe(hash)
  })

  it('always includes the type, and nothing else by default', () => {
    expect(keyOf({})).toBe(keyOf({ keys: ['type'] }))
    expect(keyOf({}, { type: 'sms.send' })).not.toBe(keyOf({}))
    expect(keyOf({}, { queue: 'other', args: [] })).toBe(keyOf({}))
  })

  it('ignores the order of keys and the Unicode normalisation of letters', () => {
    const one = { args: [{ a: 'caf\u00e9', b: 2 }] }
    const other = { args: [{ b: 2, a: 'cafe\u0301' }] }
    expect(keyOf({ keys: ['args'] }, one)).toBe(keyOf({ keys: ['args'] }, other))
  })

  it('respects the order of arguments', () => {
    expect(keyOf({ keys: ['args'] }, { args: [1, 2] })).not.toBe(keyOf({ keys: ['args'] }, { args: [2, 1] }))
  })

  it('finds args_keys in the first object that has them, or by index', () => {
    const by = { keys: ['args'], args_keys: ['user_id', '1'] }
    expect(keyOf(by)).toBe(keyOf(by, { args: [{ user_id: 42, template: 'other' }, 'second'] }))
    expect(keyOf(by)).not.toBe(keyOf(by, { args: [{ user_id: 42 }, 'third'] }))
  })

  it('accepts the official client’s name for keys', () => {
    expect(keyOf({ key: ['args'] })).toBe(keyOf({ keys: ['args'] }))
  })

  it('lasts as long as the job, and rejects, by default', () => {
    expect(read({}).unique).toMatchObject({
      periodMs: null,
      states: ['available', 'active', 'scheduled', 'retryable', 'pending'],
      onConflict: 'reject',
    })
    expect(
      read({ period: 'PT1H', states: ['completed'], on_conflict: 'replace_except_schedule' }).unique,
    ).toMatchObject({
      periodMs: 3_600_000,
      states: ['completed'],
      onConflict: 'replace_except_schedule',
    })
  })

  it.each([
    ['an unknown dimension', { keys: ['argz'] }],
    ['an unknown state', { states: ['done'] }],
    ['an unknown strategy', { on_conflict: 'merge' }],
    ['an invalid period', { period: 'an hour' }],
    ['meta without meta_keys', { keys: ['meta'] }],
    ['args_keys that are not in args', { keys: ['args'], args_keys: ['order_id'] }],
    ['a place beyond the arguments', { args_keys: ['7'] }],
    ['no object', 'type'],
  ])('refuses %s', (_, policy) => {
    expect(read(policy).mistakes).toHaveLength(1)
  })
})
