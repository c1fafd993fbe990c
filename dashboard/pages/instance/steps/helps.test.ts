import { describe, expect, it } from 'vitest'
import type { Reason } from '../model.ts'
import { commandFor, nestedIn } from './helps.ts'

const reason = (kind: string, facts: object = {}): Reason => ({ kind, text: '', ...facts }) as Reason

describe('what helps against waiting', () => {
  it('is the command that petrel why prints', () => {
    const commands = [
      reason('idle'),
      reason('gate', { gate: 'g1' }),
      reason('admission', { instance: 'i2' }),
      reason('disabled', { type: 'a b' }),
      reason('paused', { what: 'instance', instance: 'i1' }),
      reason('paused', { what: 'definition', definition: 'order' }),
      reason('paused', { what: 'type', type: 'card.charge' }),
      reason('paused', { what: 'queue', queue: "it's" }),
      reason('dependency', { nodes: [] }),
      reason('lease'),
    ].map((one) => commandFor(one, 'i1'))
    expect(commands).toEqual([
      'petrel start i1',
      'petrel approve g1',
      'petrel context i2 NAME=JSON',
      "petrel registry enable 'a b'",
      'petrel resume i1',
      'petrel definitions resume order',
      'petrel registry resume card.charge',
      "petrel queues --resume 'it'\\''s'",
      null,
      null,
    ])
  })

  it('inside of a nested workflow is found there', () => {
    expect(nestedIn(reason('child', { child: { id: 'c' }, waits: [] }))).toEqual({ id: 'c', waits: [] })
    expect(nestedIn(reason('queue'))).toBeNull()
  })
})
