/** The items of a bulk operation with their results; `?state=` shows only those with one result. */
import { useComputed, useSignal } from '@preact/signals'
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { type PagedList, useLastList, usePaged } from '../../api/paged.ts'
import { href, param, setQuery } from '../../browser/router.ts'
import type { Operation } from '../../ui/bulk/progress-bar.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { FreshChip, ListFoot } from '../../ui/search/foot.tsx'
import { shortId } from '../../ui/search/short-id.ts'
import { State } from '../../ui/state.tsx'

type Item = Answer<'GET /v1/operations/:id/items'>['items'][number]

const RESULTS = ['succeeded', 'refused', 'failed', 'pending'] as const
const LOOKS = { succeeded: 'succeeded', refused: 'cancelled', failed: 'failed', pending: 'pending' } as const
const PAGE = 500

export function Items({ operation }: { readonly operation: Operation }) {
  const { id } = operation
  const result = RESULTS.find((one) => one === param('state')) ?? null
  const held = useSignal(false)
  const away = useSignal(false)
  const hold = useComputed(() => held.value || away.value)
  const list: PagedList<Item> = usePaged<Item>(`items ${id} ${result}`, {
    idOf: (item) => item.id,
    hold,
    everyMs: operation.state === 'running' ? 2_000 : null,
    concerns: ({ areas }) => areas.has('operations'),
    load: async (before, signal) => {
      const query = {
        limit: PAGE,
        ...(before === null ? {} : { before }),
        ...(result === null ? {} : { state: result }),
      }
      const { items, next_before: next } = await api('GET /v1/operations/:id/items', { params: { id }, query, signal })
      return { rows: items, next, complete: true }
    },
  })
  const { page, stale } = useLastList(list)
  return (
    <section>
      <div class="row list-tools">
        <h2>Items</h2>
        <fieldset class="counts">
          <legend class="visually-hidden">Only with this result</legend>
          {RESULTS.map((one) => (
            <button
              type="button"
              key={one}
              class="count"
              aria-pressed={one === result}
              onClick={() => setQuery({ state: one === result ? null : one })}
            >
              {one} <strong>{operation[one].toLocaleString('en')}</strong>
            </button>
          ))}
        </fieldset>
        <FreshChip list={list} what="items" />
      </div>
      {list.error.value !== null && <Problem error={list.error.value} />}
      {page !== null && (
        <div class={stale ? 'stale' : ''}>
          <Rows
            label="Items"
            rows={page.rows}
            columns={columnsOf(operation)}
            keyOf={(item) => item.id}
            hrefOf={(item) => href(`/${operation.target}/${item.id}`)}
            held={held}
            away={away}
            onEnd={() => list.end()}
            onVisible={(first) => list.visible(first)}
            empty={<Empty what={result === null ? 'Nothing has been found yet.' : `No item is ${result}.`} />}
          />
          {page.rows.length > 0 && <ListFoot list={list} page={page} what="items" />}
        </div>
      )}
    </section>
  )
}

function columnsOf({ target }: Operation): readonly Column<Item>[] {
  const link = (id: string): preact.ComponentChildren => (
    <a href={href(`/${target}/${id}`)} title={id}>
      <code>{shortId(id)}</code>
    </a>
  )
  return [
    {
      key: 'state',
      title: 'Result',
      width: 'minmax(6rem, 8rem)',
      cell: ({ state }) => <State state={LOOKS[state]} label={state} />,
    },
    {
      key: 'id',
      title: target === 'instances' ? 'Instance' : 'Run',
      width: 'minmax(6rem, 1fr)',
      cell: ({ id }) => link(id),
    },
    {
      key: 'new',
      title: 'Made',
      width: 'minmax(6rem, 1fr)',
      optional: true,
      cell: ({ new_id: made }) => (made === null ? <span class="dim">–</span> : link(made)),
    },
    {
      key: 'why',
      title: 'Why',
      width: 'minmax(6rem, 2fr)',
      cell: ({ code, message }) =>
        code === null ? (
          <span class="dim">–</span>
        ) : (
          <span title={`${code}: ${message ?? ''}`}>
            <code>{code}</code> <bdi>{message}</bdi>
          </span>
        ),
    },
    {
      key: 'at',
      title: 'At',
      width: '7rem',
      optional: true,
      cell: ({ settled_at: at }) => <Moment at={at} />,
    },
  ]
}
