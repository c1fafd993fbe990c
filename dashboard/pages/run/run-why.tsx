/** What a run that has not ended waits for. */
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { sentenceOf } from '../../ui/sentence.ts'
import type { Run } from './run.tsx'

export function RunWhy({ run }: { readonly run: Run }) {
  if (run.status !== 'pending' && run.status !== 'leased') return null
  return <Waiting id={run.id} />
}

function Waiting({ id }: { readonly id: string }) {
  const { data } = useLive(`why ${id}`, (signal) => api('GET /v1/runs/:id/why', { params: { id }, signal }), {
    concerns: ({ areas }) => areas.has('runs'),
    atMostEveryMs: 2_000,
    everyMs: 10_000,
  })
  const reasons = data.value?.reasons ?? []
  if (reasons.length === 0) return null
  return (
    <section class="card waiting-note" aria-label="What it waits for">
      <ul class="reasons">
        {reasons.map((reason, i) => (
          <li key={i}>
            <bdi class="long-message">{sentenceOf(reason.text)}</bdi>
          </li>
        ))}
      </ul>
    </section>
  )
}
