/** The newest instances or runs of a group, each opened at the step that failed. */
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { Moment } from '../../ui/moments.tsx'
import { shortId } from '../../ui/search/short-id.ts'
import { State } from '../../ui/state.tsx'
import { type ErrorGroup, instancesOf, isOfRuns, runsOf } from './parts.tsx'

const SHOWN = 8

interface Member {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly at: string
}

export function Members({ group }: { readonly group: ErrorGroup }) {
  const ofRuns = isOfRuns(group)
  const q = ofRuns ? runsOf(group) : instancesOf(group)
  const live = useLive(`members ${group.fingerprint}`, (signal) => (ofRuns ? readRuns(q, signal) : read(q, signal)), {
    atMostEveryMs: 3_000,
    concerns: ({ instances, more, areas }) => more || instances.size > 0 || areas.has('runs'),
  })
  const members = live.data.value ?? []
  const path = ofRuns ? '/runs' : '/instances'
  if (members.length === 0) return null
  return (
    <section class="card">
      <div class="row">
        <h2 class="grow">Newest {ofRuns ? 'runs' : 'instances'} of this group</h2>
        <a href={href(path, { q })}>all</a>
      </div>
      <ul class="members">
        {members.map(({ id, name, state, at }) => (
          <li key={id}>
            <State state={state} />
            <a class="grow" href={href(`${path}/${id}`, ofRuns ? {} : { step: group.node })} title={`${name} ${id}`}>
              <bdi>{name}</bdi> <code>{shortId(id)}</code>
            </a>
            <span class="dim">
              <Moment at={at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

async function read(q: string, signal: AbortSignal): Promise<readonly Member[]> {
  const { instances } = await api('GET /v1/instances', { query: { q, limit: SHOWN }, signal })
  return instances.flatMap((row): readonly Member[] =>
    'name' in row ? [{ id: row.id, name: row.name, state: row.state, at: row.created_at }] : [],
  )
}

async function readRuns(q: string, signal: AbortSignal): Promise<readonly Member[]> {
  const { runs } = await api('GET /v1/runs', { query: { q, limit: SHOWN }, signal })
  return runs.flatMap((row): readonly Member[] =>
    'type' in row ? [{ id: row.id, name: row.type, state: row.status, at: row.created_at }] : [],
  )
}
