import { describe, expect, it } from 'vitest'
import { aGate, anInstance } from '../../../test/store/rows.ts'
import { standingOf, type Vote } from '../../model/gates.ts'
import type { GateRow } from '../../model/rows.ts'
import type { Json } from '../../net/net.ts'
import { checkVote, verdictOf } from './votes.ts'

type Options = { readonly [key: string]: Json }

const vote = (by: string | null, approved = true, rest: Partial<Vote> = {}): Vote => ({
  by,
  roles: [],
  approved,
  reason: null,
  link: null,
  at: 1_000,
  ...rest,
})

function gate(options: Options, votes: readonly Vote[] = [], rest: Partial<GateRow> = {}): GateRow {
  return aGate(anInstance(), { options: JSON.stringify(options), votes: JSON.stringify(votes), ...rest })
}

const verdict = (options: Options, ...votes: readonly Vote[]): string | null =>
  verdictOf(standingOf(gate(options, votes), []))

describe('the verdict of votes', () => {
  it('is approval with the quorum', () => {
    expect(verdict({ quorum: 2 }, vote('a'))).toBeNull()
    expect(verdict({ quorum: 2 }, vote('a'), vote('b'))).toBe('approved')
  })

  it('is rejection when the quorum can no longer be reached', () => {
    expect(verdict({ quorum: 2 }, vote('a', false))).toBe('rejected')
    expect(verdict({ quorum: 2, of: 3 }, vote('a', false))).toBeNull()
    expect(verdict({ quorum: 2, of: 3 }, vote('a', false), vote('b', false))).toBe('rejected')
  })
})

describe('a vote is refused', () => {
  it('after the gate is due', () => {
    expect(() => checkVote(gate({}, [], { dueAt: 1_000 }), vote('a'), [])).toThrow(/could be decided until/)
  })

  it('from a person who has voted, under an unverified name too', () => {
    expect(() => checkVote(gate({ quorum: 2 }, [vote('ada')]), vote('ada (unverified)'), [])).toThrow(/has approved/)
  })

  it('from the initiator, where it is excluded', () => {
    expect(() => checkVote(gate({ excludeInitiator: true }), vote('ada'), ['ada'])).toThrow(/started this workflow/)
    expect(() => checkVote(gate({}), vote('ada'), ['ada'])).not.toThrow()
  })

  it('without a name, where names count', () => {
    expect(() => checkVote(gate({ quorum: 2 }), vote(null), [])).toThrow(/requires the name of the voter/)
    expect(() => checkVote(gate({}), vote(null), [])).not.toThrow()
  })

  it('without a required role, until an escalation has added one of the voter', () => {
    const options = { roles: ['boss'], escalate: [{ after: 10, roles: ['deputy'] }] }
    const deputy = vote('ada', true, { roles: ['deputy'] })
    expect(() => checkVote(gate(options), deputy, [])).toThrow(/takes one of the roles boss; ada has deputy/)
    expect(() => checkVote(gate(options, [], { escalated: 1 }), deputy, [])).not.toThrow()
  })

  it('from a person who is not named, where persons are', () => {
    expect(() => checkVote(gate({ of: ['bob'] }), vote('ada'), [])).toThrow(/not one of those/)
  })
})
