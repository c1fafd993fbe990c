/** Bulk operations, the newest first. */
import { useComputed, useSignal } from '@preact/signals'
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { type PagedList, useLastList, usePaged } from '../../api/paged.ts'
import { href, param, setQuery } from '../../browser/router.ts'
import { settledOf } from '../../ui/bulk/progress.ts'
import { type Operation, ProgressBar } from '../../ui/bulk/progress-bar.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { FreshChip, ListFoot } from '../../ui/search/foot.tsx'
import { acted, OperationState, QueryLink } from './parts.tsx'

type Listed = Answer<'GET /v1/operations'>['operations'][number]

const STATES = ['running', 'stopped', 'completed'] as const

const COLUMNS: readonly Column<Listed>[] = [
  column('state', 'State', 'minmax(6rem, 8rem)', ({ state }) => <OperationState state={state} />),
  column('action', 'Action', '8.5rem', (operation) => (
    <a href={href(`/operations/${operation.id}`)}>{acted(operation)}</a>
  )),
  column('query', 'Query', 'minmax(8rem, 2fr)', (operation) => <QueryLink operation={operation} />, {
    optional: true,
  }),
  column('progress', 'Progress', 'minmax(8rem, 1.8fr)', (operation) => <Short operation={operation} />),
  column('rate', 'Per minute', '5.5rem', ({ rate_per_minute: rate }) => rate?.toLocaleString('en') ?? 'no limit', {
    numeric: true,
    optional: true,
  }),
  column('reason', 'By and why', 'minmax(6rem, 1fr)', ({ actor, reason }) => <Text text={said(actor, reason)} />, {
    optional: true,
  }),
  column('created', 'Ordered', '7.5rem', ({ created_at: at }) => <Moment at={at} />, { optional: true }),
]

function column(
  key: string,
  title: string,
  width: string,
  cell: (operation: Operation) => preact.ComponentChildren,
  more: Partial<Column<Listed>> = {},
): Column<Listed> {
  const shown = (row: Listed): preact.ComponentChildren =>
    'action' in row ? cell(row) : key === 'action' ? <span class="dim">cannot be read: {String(row.id)}</span> : null
  return { key, title, width, cell: shown, ...more }
}

export default function Operations() {
  const state = STATES.find((one) => one === param('state')) ?? null
  const held = useSignal(false)
  const away = useSignal(false)
  const hold = useComputed(() => held.value || away.value)
  const list: PagedList<Listed> = usePaged<Listed>(`operations ${state}`, {
    idOf: ({ id }) => String(id),
    hold,
    concerns: ({ areas }) => areas.has('operations'),
    load: async (before, signal) => {
      const query = { limit: 100, ...(before === null ? {} : { before }), ...(state === null ? {} : { state }) }
      const { operations, next_before: next } = await api('GET /v1/operations', { query, signal })
      return { rows: operations, next, complete: true }
    },
  })
  const { page, stale } = useLastList(list)
  return (
    <>
      <div class="row page-head">
        <h1 class="grow">Bulk operations</h1>
      </div>
      <div class="row list-tools">
        <fieldset class="counts">
          <legend class="visually-hidden">Only in this state</legend>
          {STATES.map((one) => (
            <button
              type="button"
              key={one}
              class="count"
              aria-pressed={one === state}
              onClick={() => setQuery({ state: one === state ? null : one })}
            >
              {one}
            </button>
          ))}
        </fieldset>
        <FreshChip list={list} what="operations" />
      </div>
      {list.error.value !== null && <Problem error={list.error.value} />}
      {page !== null && (
        <div class={stale ? 'stale' : ''}>
          <Rows
            label="Bulk operations"
            rows={page.rows}
            columns={COLUMNS}
            keyOf={({ id }) => String(id)}
            hrefOf={({ id }) => href(`/operations/${id}`)}
            held={held}
            away={away}
            onEnd={() => list.end()}
            onVisible={(first) => list.visible(first)}
            empty={
              state === null ? (
                <Empty
                  what="Nothing has been ordered. A bulk operation is one action on everything that a query finds."
                  command="petrel bulk retry 'state:failed' --dry-run"
                />
              ) : (
                <Empty what={`No operation is ${state}.`} command={`petrel bulk ls --state ${state}`} />
              )
            }
          />
          {page.rows.length > 0 && <ListFoot list={list} page={page} what="operations" />}
        </div>
      )}
    </>
  )
}

function Short({ operation }: { readonly operation: Operation }) {
  const { matched, refused, failed } = operation
  const words = [
    `${settledOf(operation).toLocaleString('en')} of ${matched.toLocaleString('en')}`,
    ...(refused > 0 ? [`${refused.toLocaleString('en')} refused`] : []),
    ...(failed > 0 ? [`${failed.toLocaleString('en')} failed`] : []),
  ].join(', ')
  return (
    <span class="short" title={words}>
      <ProgressBar operation={operation} /> <span class="dim">{words}</span>
    </span>
  )
}

function Text({ text }: { readonly text: string | null }) {
  return text === null ? <span class="dim">–</span> : <bdi title={text}>{text}</bdi>
}

/** `ada: the bank is back` */
function said(actor: string | null, reason: string | null): string | null {
  const parts = [actor, reason].filter((part) => part !== null)
  return parts.length === 0 ? null : parts.join(': ')
}
