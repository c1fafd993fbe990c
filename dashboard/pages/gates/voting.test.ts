import { describe, expect, it } from 'vitest'
import { seatsOf, stagesOf, termsOf, type VotableGate, type Vote, whyNoVote } from './voting.ts'

const vote = (by: string, approved = true): Vote => ({
  by,
  approved,
  roles: [],
  at: '2026-03-01T10:00:00.000Z',
  answer: null,
  reason: null,
  link: null,
})

const gate = (options: object, more: Partial<VotableGate> = {}): VotableGate => ({
  state: 'open',
  options,
  votes: [],
  escalated: 0,
  due_at: null,
  ...more,
})

const ann = { subject: 'ann', roles: ['finance'] }

describe('a person', () => {
  it('may vote with one of the roles, and at a gate without roles', () => {
    expect(whyNoVote(gate({ roles: ['finance', 'legal'] }), ann)).toBeNull()
    expect(whyNoVote(gate({}), { subject: null, roles: [] })).toBeNull()
  })

  it('may not vote without a role', () => {
    expect(whyNoVote(gate({ roles: ['legal'] }), ann)).toBe('needs the role legal; you have finance')
    expect(whyNoVote(gate({ roles: ['legal', 'board'] }), { subject: 'zoe', roles: [] })).toBe(
      'needs one of the roles legal, board; you have none',
    )
  })

  it('may vote with a role that an escalation has added, named or not', () => {
    const options = { roles: ['legal'], of: ['bob'], escalate: [{ after: 1000, roles: ['finance'] }] }
    expect(whyNoVote(gate(options), ann)).toBe('only bob may vote')
    expect(whyNoVote(gate(options, { escalated: 1 }), ann)).toBeNull()
  })

  it('votes once, and not at a decided gate', () => {
    expect(whyNoVote(gate({}, { votes: [vote('ann', false)] }), ann)).toBe('you have rejected it')
    expect(whyNoVote(gate({}, { state: 'closed' }), ann)).toBe('the gate is already closed')
  })
})

describe('the seats of a gate', () => {
  it('are as many as votes are possible, the filled ones first', () => {
    const seats = seatsOf(gate({ quorum: 2, of: 3, roles: ['finance'] }, { votes: [vote('ann')] }))
    expect(seats.map(({ vote: cast, forWhom }) => cast?.by ?? forWhom)).toEqual(['ann', 'finance', 'finance'])
  })

  it('belong to the named persons who have not voted', () => {
    const seats = seatsOf(gate({ of: ['ann', 'bob'] }, { votes: [vote('bob')] }))
    expect(seats.map(({ vote: cast, forWhom }) => cast?.by ?? forWhom)).toEqual(['bob', 'ann'])
  })

  it('are not offered once the gate is decided', () => {
    expect(seatsOf(gate({ of: 3 }, { state: 'rejected', votes: [vote('ann', false)] }))).toHaveLength(1)
  })

  it('are limited in number', () => {
    expect(seatsOf(gate({ of: 1000 }))).toHaveLength(50)
  })
})

describe('the terms of a gate', () => {
  it('are those of a plain gate where its options are not shown', () => {
    expect(termsOf(gate({ $omitted: { bytes: 100_000 } }))).toMatchObject({ quorum: 1, seats: 1, roles: null })
  })
})

describe('escalations', () => {
  it('count from the opening, or from the next stage where its time is known', () => {
    const options = { escalate: [{ after: 60_000 }, { after: 120_000, roles: ['director'] }] }
    const opened = Date.parse('2026-03-01T10:00:00Z')
    const at = (more: object) =>
      stagesOf({ options, escalated: 1, created_at: '2026-03-01T10:00:00Z', escalates_at: null, ...more })
    expect(at({}).map((stage) => [stage.at - opened, stage.hasBegun])).toEqual([
      [60_000, true],
      [120_000, false],
    ])
    // An hour of pause.
    expect(at({ escalates_at: '2026-03-01T11:02:00Z' }).map((stage) => stage.at - opened)).toEqual([
      3_660_000, 3_720_000,
    ])
  })
})
