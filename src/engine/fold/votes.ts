/**
 * Which votes decide a gate. A vote is an approval or a rejection by one person. The gate is approved when it has as many
 * approvals as its quorum, and rejected as soon as the votes that are still possible cannot reach the quorum. `of` gives
 * the number of voters; without it, that is the quorum, so the first rejection decides.
 *
 * Persons may vote who are named in `of` (if it has names) and have one of `roles` (if there are roles), or who have a
 * role that the escalation has added. Persons who have voted may not, nor may the initiator where it is excluded.
 */

import { PetrelError } from '../../kernel/errors.ts'
import { checkOf, misfitsOf } from '../../kernel/json-schema.ts'
import type { Standing, Vote } from '../../model/gates.ts'
import { escalatedRoles, type GateOptions, sameName, standingOf } from '../../model/gates.ts'
import type { GateRow } from '../../model/rows.ts'

/** The decision by the votes so far; null: none yet. */
export function verdictOf({ quorum, seats, approvals, rejections }: Standing): 'approved' | 'rejected' | null {
  if (approvals >= quorum) return 'approved'
  return seats - rejections < quorum ? 'rejected' : null
}

/** Throws if this vote must not be counted. */
export function checkVote(gate: GateRow, vote: Vote, initiators: readonly string[]): void {
  const standing = standingOf(gate, initiators)
  const { options, votes, excluded } = standing
  const { by } = vote
  const details = { gate: gate.id }
  if (gate.dueAt !== null && gate.dueAt <= vote.at) {
    const due = new Date(gate.dueAt).toISOString()
    throw new PetrelError('conflict', `gate ${gate.id} could be decided until ${due}`, { ...details, due_at: due })
  }
  if (by === null) {
    if (asksForNames(standing)) {
      throw new PetrelError('denied', `gate ${gate.id} requires the name of the voter`, details)
    }
  } else {
    const before = votes.find((other) => other.by !== null && sameName(other.by, by))
    if (before !== undefined) {
      const what = before.approved ? 'approved' : 'rejected'
      const at = new Date(before.at).toISOString()
      throw new PetrelError('conflict', `${by} has ${what} gate ${gate.id} already, at ${at}`, {
        ...details,
        voted_at: at,
        approved: before.approved,
      })
    }
    if (excluded.some((name) => sameName(name, by))) {
      throw new PetrelError('denied', `${by} started this workflow and may not decide gate ${gate.id}`, details)
    }
  }
  checkRight(gate, vote, options)
  checkForm(options, vote)
}

function asksForNames({ options, seats }: Standing): boolean {
  return seats > 1 || options.roles !== undefined || typeof options.of === 'object' || options.excludeInitiator === true
}

function checkRight(gate: GateRow, { by, roles }: Vote, options: GateOptions): void {
  if (escalatedRoles(gate, options).some((role) => roles.includes(role))) return
  if (typeof options.of === 'object' && (by === null || !options.of.includes(by))) {
    throw new PetrelError('denied', `${by} is not one of those who decide gate ${gate.id}`, {
      gate: gate.id,
      of: options.of,
    })
  }
  if (options.roles === undefined || options.roles.some((role) => roles.includes(role))) return
  const required = [...new Set([...options.roles, ...escalatedRoles(gate, options)])]
  const has = roles.length === 0 ? 'none' : roles.join(', ')
  throw new PetrelError(
    'denied',
    `gate ${gate.id} takes one of the roles ${required.join(', ')}; ${by ?? 'an unknown person'} has ${has}`,
    { gate: gate.id, required_roles: required, roles },
  )
}

function checkForm({ form }: GateOptions, vote: Vote): void {
  if (form === undefined || (!vote.approved && vote.answer === undefined)) return
  const misfits = misfitsOf(checkOf(form), vote.answer ?? null, 'answer')
  if (misfits.length === 0) return
  throw new PetrelError('invalid_request', misfits.map(({ path, message }) => `${path}: ${message}`).join('; '), {
    validation_errors: misfits,
  })
}
