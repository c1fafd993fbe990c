/** The firings of a step, and what each attempt waited and ran. */
import { api } from '../../../api/client.ts'
import { useLive } from '../../../api/live.ts'
import { href } from '../../../browser/router.ts'
import { Moment, span } from '../../../ui/moments.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { State } from '../../../ui/state.tsx'
import { about } from '../model.ts'
import { type Piece, piecesOf } from './pieces.ts'
import { Reasons } from './reasons.tsx'

const MOST = 50

export function Attempts(props: {
  readonly instance: string
  readonly name: string
  /** They are not shown elsewhere. */
  readonly showsReasons: boolean
}) {
  const { instance, name, showsReasons } = props
  const { data, error } = useLive(
    `attempts ${instance} ${name}`,
    (signal) =>
      api('GET /v1/instances/:id/timeline', {
        params: { id: instance },
        query: { node: name, ids: 'true', limit: MOST },
        signal,
      }),
    { concerns: about(instance) },
  )
  if (error.value !== null) return <Problem error={error.value} />
  if (data.value === null) return <p class="dim">Loading …</p>
  const pieces = piecesOf(data.value)
  const reasons = pieces.flatMap((piece) => piece.reasons)
  return (
    <>
      {showsReasons && reasons.length > 0 && (
        <section class="waiting-note">
          <h3>Why it is not done</h3>
          <Reasons reasons={reasons} id={instance} />
        </section>
      )}
      {pieces.some(({ attempts }) => attempts.length > 0) && (
        <section>
          <h3>Attempts</h3>
          <div class="scroll-x">
            <table>
              <thead>
                <tr>
                  <th scope="col">Attempt</th>
                  <th scope="col">State</th>
                  <th scope="col">Waited</th>
                  <th scope="col">Ran</th>
                  <th scope="col">Worker, or error</th>
                </tr>
              </thead>
              <tbody>
                {pieces.map((piece) => (
                  <PieceRows key={piece.id} piece={piece} isOne={pieces.length === 1} />
                ))}
              </tbody>
            </table>
          </div>
          {data.value.next_after !== null && <p class="dim">The first {MOST} are shown.</p>}
        </section>
      )}
    </>
  )
}

function PieceRows({ piece, isOne }: { readonly piece: Piece; readonly isOne: boolean }) {
  const { attempts, state, kind, id, fire, role, begin } = piece
  return (
    <>
      {attempts.map(({ number, waitedMs, ranMs, isRunning, worker, error, waits }, i) => {
        const isLast = i === attempts.length - 1
        return (
          <tr key={number}>
            <td>
              {kind === 'run' ? <a href={href(`/runs/${id}`)}>{number}</a> : number}
              {role !== null && role !== 'work' && ` (${role})`}
              {!isOne && fire !== null && <span class="dim"> of firing {fire}</span>}
              {i === 0 && (
                <span class="dim">
                  {' '}
                  <Moment at={begin} />
                </span>
              )}
            </td>
            <td>
              <State state={isLast ? state : 'failed'} />
            </td>
            <td>
              {span(waitedMs)}
              {waits !== null && <span class="dim"> {waits}</span>}
            </td>
            <td>{ranMs === null ? <span class="dim">–</span> : isRunning ? 'running' : span(ranMs)}</td>
            <td>
              {worker !== null && <bdi>{worker.slice(0, 200)}</bdi>}
              {error !== null && (
                <>
                  {' '}
                  <bdi class="bad-text">{error.slice(0, 300)}</bdi>
                </>
              )}
            </td>
          </tr>
        )
      })}
    </>
  )
}
