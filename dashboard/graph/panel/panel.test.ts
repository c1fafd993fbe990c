import { describe, expect, it } from 'vitest'
import { commandFor, reasonLines } from './commands.ts'

describe('the reasons', () => {
  it('of a nested workflow are followed by what it waits for itself', () => {
    const gate = { kind: 'gate', text: 'waits for people', gate: 'g' }
    const inner = {
      kind: 'child',
      text: 'c2 is running',
      child: { id: 'c2' },
      waits: [{ node: 'ok', reasons: [gate] }],
    }
    const outer = {
      kind: 'child',
      text: 'c1 is running',
      child: { id: 'c1' },
      waits: [{ node: 'sub', reasons: [inner] }],
    }
    expect(reasonLines([outer])).toEqual([
      { text: 'c1 is running', command: 'petrel why c1', depth: 0 },
      { text: 'sub: c2 is running', command: 'petrel why c2', depth: 1 },
      { text: 'ok: waits for people', command: 'petrel approve g', depth: 2 },
    ])
  })
})

describe('the command that helps', () => {
  it('is that of the reason', () => {
    const command = (kind: string, facts: object): string | null => commandFor({ kind, text: '', ...facts })
    expect(command('gate', { gate: 'g1' })).toBe('petrel approve g1')
    expect(command('paused', { what: 'queue', queue: 'a b' })).toBe("petrel queues --resume 'a b'")
    expect(command('paused', { what: 'type', type: 'x.y' })).toBe('petrel registry resume x.y')
    expect(command('admission', { instance: 'i' })).toBe('petrel context i NAME=JSON')
    expect(command('child', { child: { id: 'c' } })).toBe('petrel why c')
    expect(command('queue', {})).toBeNull()
    expect(command('gate', {})).toBeNull()
  })
})
