/** The items of a list, page by page: a list of 100,000 is read as far as one scrolls. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../../../api/client.ts'
import { href } from '../../../browser/router.ts'
import { span } from '../../../ui/moments.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { type Column, Rows } from '../../../ui/rows.tsx'
import { State } from '../../../ui/state.tsx'
import { type Piece, piecesOf } from './pieces.ts'
import { countsOf, type Step } from './read.ts'

const PAGE = 500

const COLUMNS: readonly Column<Piece>[] = [
  { key: 'item', title: 'Item', width: '4rem', numeric: true, cell: ({ item }) => item ?? '–' },
  { key: 'state', title: 'State', width: '6.5rem', cell: ({ state }) => <State state={state} /> },
  {
    key: 'took',
    title: 'Took',
    width: '4.5rem',
    numeric: true,
    cell: ({ took }) => (took === null ? '–' : span(took)),
  },
  {
    key: 'note',
    title: 'Worker, or error',
    width: 'minmax(4rem, 1fr)',
    optional: true,
    cell: ({ attempts }) => {
      const last = attempts.at(-1)
      const text = last?.error ?? last?.worker ?? ''
      return (
        <bdi class={last?.error == null ? '' : 'bad-text'} title={text.slice(0, 2000)}>
          {text.slice(0, 300)}
        </bdi>
      )
    },
  },
]

export function Items({
  instance,
  name,
  step,
}: {
  readonly instance: string
  readonly name: string
  readonly step: Step
}) {
  const pieces = useSignal<readonly Piece[]>([])
  const next = useSignal<string | null>(null)
  const busy = useSignal(false)
  const error = useSignal<Error | null>(null)
  const read = async (after: string | null): Promise<void> => {
    if (busy.value) return
    busy.value = true
    try {
      const query = { node: name, ids: 'true' as const, limit: PAGE, ...(after === null ? {} : { after }) }
      const page = await api('GET /v1/instances/:id/timeline', { params: { id: instance }, query })
      pieces.value = [...(after === null ? [] : pieces.value), ...piecesOf(page)]
      next.value = page.next_after
      error.value = null
    } catch (refused) {
      error.value = refused as Error
    } finally {
      busy.value = false
    }
  }
  useEffect(() => void read(null), [instance, name])
  if (error.value !== null) return <Problem error={error.value} />
  return (
    <section>
      <div class="row">
        <h3 class="grow">{countsOf(step)}</h3>
        <button type="button" class="small" onClick={() => void read(null)}>
          Read again
        </button>
        <a href={href('/runs', { q: `instance:${instance} node:"${name}" status:failed` })}>failed ones</a>
      </div>
      <Rows
        label={`Items of ${name.slice(0, 80)}`}
        rows={pieces.value}
        columns={COLUMNS}
        keyOf={({ id }) => id}
        hrefOf={({ id, kind }) => (kind === 'child' ? href(`/instances/${id}`) : href(`/runs/${id}`))}
        onEnd={() => {
          if (next.value !== null) void read(next.value)
        }}
        height={`min(${Math.max(pieces.value.length, 2) * 34 + 2}px, 45vh)`}
        empty={<p>{busy.value ? 'Loading …' : 'No item has begun.'}</p>}
      />
      {next.value !== null && <p class="dim">{pieces.value.length.toLocaleString()} read; scroll for more.</p>}
    </section>
  )
}
