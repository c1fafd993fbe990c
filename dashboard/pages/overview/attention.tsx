/** What may need somebody: groups of failures, findings of the doctor, queues that nobody works on. */
import { href } from '../../browser/router.ts'
import { Term } from '../../ui/explain.tsx'
import { Moment, span } from '../../ui/moments.tsx'
import { State } from '../../ui/state.tsx'
import type { OverviewData } from './overview.tsx'

/** A run that has been due for longer is worth a look. */
const LONG_DUE_SECONDS = 60

export function Attention({ overview: { errors, shared } }: { readonly overview: OverviewData }) {
  const late = (shared?.queues ?? []).filter(
    ({ oldest_age_seconds: age, paused }) => !paused && age !== null && age > LONG_DUE_SECONDS,
  )
  const doctor = shared?.doctor ?? null
  const fine = errors.open === 0 && late.length === 0 && doctor?.ok !== false
  return (
    <section class="card" aria-label="What needs attention">
      <header class="row">
        <h2 class="grow">What needs attention</h2>
        {doctor !== null && <Doctor doctor={doctor} />}
      </header>
      {fine && <p>Nothing: no open failures, and no run has been due for long.</p>}
      {errors.open > 0 && (
        <>
          <p>
            <a href={href('/errors')}>
              {errors.open}
              {errors.more && '+'} open <Plain n={errors.open} one="group" many="groups" /> of failures
            </a>
            , {errors.new} first seen in the last 24 hours <Term name="error group" label="?" />
          </p>
          <Groups groups={errors.top} />
        </>
      )}
      {late.length > 0 && (
        <ul class="plain-list">
          {late.map(({ queue, oldest_age_seconds: age, pending, more }) => (
            <li key={queue}>
              <State state="waiting" label="late" /> queue{' '}
              <a href={href('/queues', { queue })}>
                <bdi>{queue}</bdi>
              </a>
              : a run has been due for {span((age ?? 0) * 1000)}; {pending}
              {more && '+'} pending
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

function Groups({ groups }: { readonly groups: OverviewData['errors']['top'] }) {
  return (
    <table class="wide-table">
      <thead>
        <tr>
          <th scope="col" class="n">
            Count
          </th>
          <th scope="col">Failure</th>
          <th scope="col" class="optional">
            Type
          </th>
          <th scope="col">Last</th>
        </tr>
      </thead>
      <tbody>
        {groups.map((group) => (
          <tr key={group.fingerprint}>
            <td class="n">{group.count.toLocaleString('en')}</td>
            <td>
              <a href={href(`/errors/${group.fingerprint}`)}>
                <bdi>{group.message === '' ? group.code : group.message}</bdi>
              </a>
            </td>
            <td class="optional">
              <bdi>{group.type}</bdi>
            </td>
            <td>
              <Moment at={group.last_seen} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

type DoctorReport = NonNullable<NonNullable<OverviewData['shared']>['doctor']>

function Doctor({ doctor: { ok, checked_at: at, findings, count } }: { readonly doctor: DoctorReport }) {
  if (ok) {
    return (
      <span title={`petrel doctor, checked ${new Date(at).toLocaleString()}`}>
        <State state="completed" label="doctor: no findings" />
      </span>
    )
  }
  return (
    <details>
      <summary>
        <State state="failed" label={`doctor: ${count} findings`} />
      </summary>
      <ul class="plain-list">
        {findings.map(({ check, subject, finding }) => (
          <li key={`${check} ${subject}`}>
            {check} <code>{subject}</code>: {finding}
          </li>
        ))}
      </ul>
      <p class="dim">
        <code>petrel doctor</code> has all of them.
      </p>
    </details>
  )
}

function Plain({ n, one, many }: { readonly n: number; readonly one: string; readonly many: string }) {
  return <>{n === 1 ? one : many}</>
}
