/** What is left to be repaired in a group, and the operations that repair it: the count falls while one looks at it. */
import { useRef } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { type Live, useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { ActionButton } from '../../ui/actions.tsx'
import { stopOrResume } from '../../ui/bulk/operation-actions.ts'
import { choiceOf } from '../../ui/bulk/orders.ts'
import { type Operation, Progress } from '../../ui/bulk/progress-bar.tsx'
import { Moment } from '../../ui/moments.tsx'
import { countText } from '../../ui/search/counts.tsx'
import { Spark } from '../../ui/spark.tsx'
import { concerns, type ErrorGroup, unrepaired } from './parts.tsx'

const EVERY_MS = 2_000
/** Of the newest operations, those of this group. */
const OPERATIONS = 100
const SHOWN = 3
const SAMPLES = 60

export interface Left {
  readonly count: number
  readonly more: boolean
}

export function useLeft(group: ErrorGroup): Live<Left> {
  const { target, query: q } = unrepaired(group)
  return useLive(
    `left of ${group.fingerprint}`,
    async (signal) => {
      const { counts } =
        target === 'instances'
          ? await api('GET /v1/instances/counts', { query: { q }, signal })
          : await api('GET /v1/runs/counts', { query: { q }, signal })
      return {
        count: counts.reduce((sum, { count }) => sum + count, 0),
        more: counts.some(({ more }) => more),
      }
    },
    { everyMs: EVERY_MS, concerns: ({ instances, more, areas }) => more || instances.size > 0 || areas.has('runs') },
  )
}

export function useRepairs(group: ErrorGroup): Live<readonly Operation[]> {
  return useLive(
    `operations of ${group.fingerprint}`,
    async (signal) => {
      const { operations } = await api('GET /v1/operations', { query: { limit: OPERATIONS }, signal })
      return operations.filter((one): one is Operation => 'action' in one && concerns(one, group)).slice(0, SHOWN)
    },
    { everyMs: EVERY_MS, concerns: ({ areas }) => areas.has('operations') },
  )
}

export function Repair({
  group,
  left,
  repairs,
}: {
  readonly group: ErrorGroup
  readonly left: Live<Left>
  readonly repairs: Live<readonly Operation[]>
}) {
  const { target, query } = unrepaired(group)
  const count = left.data.value
  const samples = useSamples(count)
  const words =
    target === 'instances' ? 'failed instances that no bulk operation has retried' : 'failed runs that can be redriven'
  return (
    <section class="card repair">
      <h2>To be repaired</h2>
      <p class="row">
        <a class="figure" href={href(`/${target}`, { q: query })}>
          {count === null ? '…' : countText(count)}
        </a>
        <span class="grow dim">{words}</span>
        {samples.some((value) => value !== samples[0]) && (
          <Spark values={samples} label={`The count since this page was opened, now ${count?.count ?? 0}`} />
        )}
      </p>
      {(repairs.data.value ?? []).map((operation) => (
        <div key={operation.id} class="repair-operation">
          <div class="row">
            <p class="grow">
              <a href={href(`/operations/${operation.id}`)}>{choiceOf(operation.target, operation.action).label}</a>{' '}
              <span class="dim">
                {operation.state}, ordered <Moment at={operation.created_at} /> by{' '}
                <bdi>{operation.actor ?? 'a caller without a name'}</bdi>
                {operation.reason !== null && (
                  <>
                    : <bdi>{operation.reason}</bdi>
                  </>
                )}
              </span>
            </p>
            {operation.state !== 'completed' && (
              <ActionButton small action={stopOrResume(operation, () => repairs.refresh())} />
            )}
          </div>
          <Progress operation={operation} />
        </div>
      ))}
    </section>
  )
}

/** The counts that were read while the page was open. */
function useSamples(left: Left | null): readonly number[] {
  const samples = useRef<{ readonly last: Left | null; readonly values: readonly number[] }>({ last: null, values: [] })
  if (left !== null && left !== samples.current.last) {
    samples.current = { last: left, values: [...samples.current.values, left.count].slice(-SAMPLES) }
  }
  return samples.current.values
}
