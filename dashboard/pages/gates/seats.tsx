/** The seats of a gate: taken ones with the vote, empty ones with who may take them. */
import { Moment } from '../../ui/moments.tsx'
import { type Seat, seatsOf, termsOf, type VotableGate, votesOf } from './voting.ts'

const FEW = 8

/** In a row of a list: `✓○ 1 of 2`. */
export function SeatMarks({ gate }: { readonly gate: VotableGate }) {
  const { quorum } = termsOf(gate)
  const approvals = votesOf(gate).filter(({ approved }) => approved).length
  const seats = seatsOf(gate)
  const text = `${approvals} of ${quorum} ${quorum === 1 ? 'approval' : 'approvals'}`
  return (
    <span title={`${text}, ${votesOf(gate).length - approvals} against`}>
      {seats.length <= FEW && (
        <span aria-hidden="true" class="seat-marks">
          {seats.map(({ vote }, i) => (
            <span key={i} class={vote === null ? '' : vote.approved ? 'for' : 'against'}>
              {vote === null ? '○' : vote.approved ? '✓' : '✕'}
            </span>
          ))}
        </span>
      )}{' '}
      {approvals} of {quorum}
    </span>
  )
}

export function Seats({ gate }: { readonly gate: VotableGate }) {
  const seats = seatsOf(gate)
  if (seats.length === 0) return <p class="dim">Nobody has voted.</p>
  return (
    <ul class="seats">
      {seats.map((seat, i) => (
        <SeatCard key={i} seat={seat} />
      ))}
    </ul>
  )
}

function SeatCard({ seat: { vote, forWhom } }: { readonly seat: Seat }) {
  if (vote === null) {
    return (
      <li class="seat empty-seat">
        <span aria-hidden="true">○</span> empty
        <br />
        <span class="dim">
          for <bdi>{forWhom}</bdi>
        </span>
      </li>
    )
  }
  const { by, at, approved, roles, reason, link } = vote
  return (
    <li class={`seat ${approved ? 'for' : 'against'}`}>
      <span aria-hidden="true">{approved ? '✓' : '✕'}</span> <bdi>{by ?? 'an unnamed person'}</bdi>{' '}
      {approved ? 'approved' : 'rejected'}
      <br />
      <span class="dim">
        <Moment at={at} />
        {roles.length > 0 && (
          <>
            {' '}
            as <bdi>{roles.join(', ')}</bdi>
          </>
        )}
        {link !== null && ', by a link'}
      </span>
      {reason !== null && (
        <blockquote>
          <bdi>{reason}</bdi>
        </blockquote>
      )}
    </li>
  )
}
