/** What the list of runs can show. */
import type { Answer } from '../../api/answer.ts'
import { href } from '../../browser/router.ts'
import { Moment } from '../../ui/moments.tsx'
import type { Column } from '../../ui/rows.tsx'
import { filter } from '../../ui/search/query.ts'
import { shortId } from '../../ui/search/short-id.ts'
import { State } from '../../ui/state.tsx'

export type ListedRun = Answer<'GET /v1/runs'>['runs'][number]
export type Run = Extract<ListedRun, { readonly type: string }>

type Cell = (run: Run) => preact.ComponentChildren

function column(
  key: string,
  title: string,
  width: string,
  cell: Cell,
  more: Partial<Column<ListedRun>> = {},
): Column<ListedRun> {
  const shown = (row: ListedRun): preact.ComponentChildren => {
    if ('type' in row) return cell(row)
    return key === 'type' ? <span class="dim">cannot be read: {String(row.id)}</span> : null
  }
  return { key, title, width, cell: shown, ...more }
}

const optional = { optional: true }

export const COLUMNS: readonly Column<ListedRun>[] = [
  column('status', 'Status', 'minmax(6rem, 8rem)', ({ status, paused }) => (
    <>
      <State state={status} /> {paused && <span title="paused">Ⅱ</span>}
    </>
  )),
  column('type', 'Type', 'minmax(5rem, 2fr)', ({ id, type }) => (
    <a href={href(`/runs/${id}`)} title={type}>
      <bdi>{type}</bdi>
    </a>
  )),
  column('id', 'Id', 'minmax(5rem, 1fr)', ({ id }) => <code title={id}>{shortId(id)}</code>, optional),
  column('node', 'Step', 'minmax(5rem, 1fr)', ({ node }) => <Text text={node} />, optional),
  column('queue', 'Queue', '7rem', ({ queue }) => <Filter field="queue" value={queue} />, optional),
  column('attempt', 'Attempts', '5rem', ({ attempt, max_attempts: most }) => `${attempt} of ${most}`, {
    numeric: true,
    optional: true,
  }),
  column(
    'worker',
    'Worker',
    'minmax(5rem, 1fr)',
    ({ leased_by: worker }) => <Filter field="worker" value={worker} />,
    optional,
  ),
  column('instance', 'Instance', '7rem', ({ instance_id: id, node }) => <Instance id={id} node={node} />, optional),
  column('created', 'Created', 'minmax(5rem, 7.5rem)', ({ created_at: at }) => <Moment at={at} />),
  column('due', 'Due', '7rem', ({ run_at: at, paused }) => (paused ? <>paused</> : <Moment at={at} />), optional),
  column('error', 'Error', 'minmax(6rem, 2fr)', (run) => <Text text={errorText(run)} />, optional),
  column('key', 'Key', 'minmax(5rem, 1fr)', ({ idempotency_key: key }) => <Text text={key} />, optional),
  column('priority', 'Priority', '5rem', ({ priority }) => priority, { numeric: true, optional: true }),
  column('tenant', 'Tenant', '6rem', ({ tenant }) => <Text text={tenant} />, optional),
]

/** Until the user chooses. */
export const USUAL = ['status', 'type', 'node', 'queue', 'attempt', 'instance', 'created', 'error']

function errorText({ error, last_error: last }: Run): string | null {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown }
  const parts = [code, message].filter((part) => typeof part === 'string' && part !== '')
  return parts.length === 0 ? last : parts.join(': ')
}

function Text({ text }: { readonly text: string | null }) {
  return text === null ? <span class="dim">–</span> : <bdi title={text}>{text}</bdi>
}

function Filter({ field, value }: { readonly field: string; readonly value: string | null }) {
  if (value === null) return <span class="dim">–</span>
  return (
    <a href={href('/runs', { q: filter(field, value) })} title={value}>
      <bdi>{value}</bdi>
    </a>
  )
}

function Instance({ id, node }: { readonly id: string | null; readonly node: string | null }) {
  if (id === null) return <span class="dim">–</span>
  return (
    <a href={href(`/instances/${id}`, { step: node })} title={id}>
      <code>{shortId(id)}</code>
    </a>
  )
}
