/** The items of a list, page by page: however many there are, only those in view are in the document. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { sumsOf, wordsOf } from '../../api/columns.ts'
import { useLive } from '../../api/live.ts'
import { href } from '../../browser/router.ts'
import { span } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'

interface Item {
  readonly id: string
  readonly kind: string
  readonly fire: number
  readonly item: number | null
  readonly state: string
  readonly tookMs: number | null
}

interface Page {
  readonly items: readonly Item[]
  readonly next: string | null
}

const PAGE = 200

async function readPage(id: string, node: string, after: string | null, signal?: AbortSignal): Promise<Page> {
  const query = { node, ids: 'true', limit: PAGE, ...(after === null ? {} : { after }) }
  const answer = await api('GET /v1/instances/:id/timeline', { params: { id }, query, ...(signal && { signal }) })
  const { rows } = answer
  const [kinds, states, begins] = [wordsOf(rows.kind), wordsOf(rows.state), sumsOf(rows.begin, Date.parse(answer.base))]
  const now = Date.parse(answer.now)
  const items = (rows.ids ?? []).map((own, i) => ({
    id: own,
    kind: kinds[i] ?? 'run',
    fire: rows.fire[i] ?? 0,
    item: rows.item[i] ?? null,
    state: states[i] ?? '',
    tookMs: rows.took[i] ?? (begins[i] == null ? null : now - (begins[i] as number)),
  }))
  return { items, next: answer.next_after }
}

const COLUMNS: readonly Column<Item>[] = [
  { key: 'item', title: 'item', width: '4rem', numeric: true, cell: ({ item }) => item ?? '–' },
  { key: 'state', title: 'state', width: 'minmax(6rem, 1fr)', cell: ({ state }) => <State state={state} /> },
  {
    key: 'took',
    title: 'took',
    width: '6rem',
    numeric: true,
    cell: ({ tookMs }) => (tookMs === null ? '–' : span(tookMs)),
  },
]

export function Items({ id, node }: { readonly id: string; readonly node: string }) {
  const held = useSignal(false)
  const first = useLive(`${id} ${node}`, (signal) => readPage(id, node, null, signal), {
    concerns: ({ instances, more }) => more || instances.has(id),
    hold: held,
  })
  const further = useSignal<readonly Page[]>([])
  const reading = useSignal(false)
  useEffect(() => {
    further.value = []
  }, [id, node])
  if (first.error.value !== null) return <Problem error={first.error.value} />
  const page = first.data.value
  if (page === null) return <p class="dim">Loading …</p>
  const pages = [page, ...further.value]
  const next = pages.at(-1)?.next ?? null
  const readOn = async (): Promise<void> => {
    if (next === null || reading.value) return
    reading.value = true
    try {
      further.value = [...further.value, await readPage(id, node, next)]
    } finally {
      reading.value = false
    }
  }
  return (
    <section>
      <h3>Items</h3>
      <Rows
        label={`Items of ${node.slice(0, 100)}`}
        rows={pages.flatMap(({ items }) => items)}
        columns={COLUMNS}
        keyOf={(item) => item.id}
        hrefOf={(item) => href(item.kind === 'child' ? `/instances/${item.id}` : `/runs/${item.id}`)}
        held={held}
        onEnd={() => void readOn()}
        empty={<p>No item has begun.</p>}
        height="16rem"
      />
    </section>
  )
}
