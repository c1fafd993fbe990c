/** Who executed a run, when, and how each execution ended. */
import { Term } from '../../ui/explain.tsx'
import { Moment, Took } from '../../ui/moments.tsx'
import { State } from '../../ui/state.tsx'
import { executionsOf, type RunEvent } from './executions.ts'
import type { Run } from './run.tsx'

const MOST = 100

export function Executions({ run, events }: { readonly run: Run; readonly events: readonly string[] }) {
  const all = executionsOf(
    events.map((text) => JSON.parse(text) as RunEvent),
    run,
  )
  if (all.length === 0) return null
  return (
    <section>
      <h2>
        <Term name="attempt" label="Executions" />
      </h2>
      <div class="scroll-x">
        <table>
          <thead>
            <tr>
              <th scope="col">#</th>
              <th scope="col">State</th>
              <th scope="col">Worker</th>
              <th scope="col">Taken</th>
              <th scope="col">Took</th>
              <th scope="col">Error</th>
            </tr>
          </thead>
          <tbody>
            {all.slice(-MOST).map(({ worker, leasedAt, startedAt, endedAt, end, error }, i) => (
              <tr key={i}>
                <td>{Math.max(0, all.length - MOST) + i + 1}</td>
                <td>
                  <State state={end === 'retried' ? 'failed' : (end ?? 'running')} label={end ?? 'running'} />
                </td>
                <td>{worker === null ? <span class="dim">–</span> : <bdi>{worker.slice(0, 200)}</bdi>}</td>
                <td>
                  <Moment at={leasedAt ?? startedAt} />
                </td>
                <td>
                  <Took from={startedAt ?? leasedAt} to={endedAt} />
                </td>
                <td>{error !== null && <bdi class="bad-text">{error.slice(0, 500)}</bdi>}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
