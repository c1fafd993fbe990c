/** Queues by how long their oldest run has been due, the workers that are alive, and the store. */
import { href } from '../../browser/router.ts'
import { span } from '../../ui/moments.tsx'
import { State } from '../../ui/state.tsx'
import type { Shared } from './overview.tsx'

const MOST = 8

export function Capacity({ shared: { queues, more_queues: more, workers, store } }: { readonly shared: Shared }) {
  return (
    <div class="cards">
      <section class="card">
        <h2>
          <a href={href('/queues')}>Queues</a>
        </h2>
        {queues.length === 0 && <p class="dim">No run has named a queue yet.</p>}
        <table class="wide-table">
          <tbody>
            {queues.slice(0, MOST).map(({ queue, paused, pending, more: capped, oldest_age_seconds: age }) => (
              <tr key={queue}>
                <td>
                  <a href={href('/queues', { queue })}>
                    <bdi>{queue}</bdi>
                  </a>{' '}
                  {paused && <State state="paused" />}
                </td>
                <td class="n">
                  {pending}
                  {capped && '+'} pending
                </td>
                <td class="n">{age === null ? '–' : `due for ${span(age * 1000)}`}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {(more || queues.length > MOST) && <a href={href('/queues')}>more</a>}
      </section>
      <section class="card">
        <h2>
          <a href={href('/workers')}>Workers</a>
        </h2>
        {workers.length === 0 && (
          <p class="dim">
            No worker is alive: <code>petrel worker --handlers handlers.mjs</code>
          </p>
        )}
        <table class="wide-table">
          <tbody>
            {workers.slice(0, MOST).map(({ name, alive, capacity }) => (
              <tr key={name}>
                <td>
                  <bdi>{name}</bdi>
                </td>
                <td class="n">{alive} alive</td>
                <td class="n">{capacity} at a time</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      <section class="card">
        <h2>Store</h2>
        <dl class="facts">
          <dt>size</dt>
          <dd>{size(store.bytes)}</dd>
          <dt>ended work is kept</dt>
          <dd>{kept(store.ended_kept_seconds)}</dd>
          <dt>events are kept</dt>
          <dd>{kept(store.events_kept_seconds)}</dd>
        </dl>
      </section>
    </div>
  )
}

function kept(seconds: number | null): string {
  return seconds === null ? 'permanently' : `for ${span(seconds * 1000)}`
}

function size(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  const at = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${(bytes / 1000 ** at).toFixed(at === 0 ? 0 : 1)} ${units[at]}`
}
