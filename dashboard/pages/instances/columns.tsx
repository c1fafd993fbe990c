/** What the list of instances can show. */
import type { Answer } from '../../api/answer.ts'
import { href } from '../../browser/router.ts'
import { Moment, Took } from '../../ui/moments.tsx'
import type { Column } from '../../ui/rows.tsx'
import { shortId } from '../../ui/search/short-id.ts'
import { State } from '../../ui/state.tsx'

export type ListedInstance = Answer<'GET /v1/instances'>['instances'][number]
export type Instance = Extract<ListedInstance, { readonly name: string }>

/** null: the row cannot be shown; its first cell says why. */
export function instanceOf(row: ListedInstance): Instance | null {
  return 'name' in row ? row : null
}

type Cell = (instance: Instance) => preact.ComponentChildren

function column(
  key: string,
  title: string,
  width: string,
  cell: Cell,
  more: Partial<Column<ListedInstance>> = {},
): Column<ListedInstance> {
  const shown = (row: ListedInstance): preact.ComponentChildren => {
    const instance = instanceOf(row)
    if (instance !== null) return cell(instance)
    return key === 'name' ? <span class="dim">cannot be read: {String(row.id)}</span> : null
  }
  return { key, title, width, cell: shown, ...more }
}

const optional = { optional: true }

export const COLUMNS: readonly Column<ListedInstance>[] = [
  column('state', 'State', 'minmax(6rem, 8.5rem)', ({ state, paused }) => (
    <>
      <State state={state} /> {paused && <span title="paused">Ⅱ</span>}
    </>
  )),
  column('name', 'Name', 'minmax(5rem, 2fr)', (instance) => <Name instance={instance} />),
  column('id', 'Id', 'minmax(5rem, 1fr)', ({ id }) => <code title={id}>{shortId(id)}</code>, optional),
  column('notation', 'Notation', '5rem', ({ dialect }) => dialect, optional),
  column('outcome', 'Outcome', '7rem', ({ outcome }) => outcome ?? <Nothing />, optional),
  column('reason', 'Reason', 'minmax(6rem, 1fr)', ({ reason }) => <Text text={reason} />, optional),
  column('key', 'Start key', 'minmax(6rem, 1fr)', ({ start_key: key }) => <Text text={key} />, optional),
  column('created', 'Created', 'minmax(5rem, 7.5rem)', ({ created_at: at }) => <Moment at={at} />),
  column('took', 'Took', '6rem', ({ created_at: from, ended_at: to }) => <Took from={from} to={to} />, {
    numeric: true,
    optional: true,
  }),
  column('ended', 'Ended', '7rem', ({ ended_at: at }) => <Moment at={at} />, optional),
  column('deadline', 'Deadline', '7rem', ({ deadline_at: at }) => <Moment at={at} />, optional),
  column('work', 'Work', '9rem', (instance) => <Work instance={instance} />, optional),
  column('waits', 'Waits', '8rem', (instance) => <Waits instance={instance} />, optional),
  column('retry', 'Retry of', '6rem', ({ retry_of: of }) => <Retry of={of} />, optional),
  column('tenant', 'Tenant', '6rem', ({ tenant }) => <Text text={tenant} />, optional),
]

/** Until the user chooses. */
export const USUAL = ['state', 'name', 'id', 'notation', 'created', 'took', 'work']

function Nothing() {
  return <span class="dim">–</span>
}

function Text({ text }: { readonly text: string | null }) {
  return text === null ? <Nothing /> : <bdi title={text}>{text}</bdi>
}

function Name({
  instance: { id, name, parent_id: parent, parent_node: node, root_id: root },
}: {
  readonly instance: Instance
}) {
  return (
    <>
      {parent !== null && (
        <a href={href(`/instances/${root}`)} title={`Nested, at ${node ?? 'a step'}: opens the outermost workflow`}>
          ↳
        </a>
      )}{' '}
      <a href={href(`/instances/${id}`)} title={name}>
        <bdi>{name}</bdi>
      </a>
    </>
  )
}

/** How much has ended and how much is under way. How many runs are still to come is not known. */
function Work({ instance: { succeeded, failed, open } }: { readonly instance: Instance }) {
  const parts = [
    { shape: '✓', count: succeeded, word: 'succeeded', tone: 'good' },
    { shape: '✕', count: failed, word: 'failed', tone: 'bad' },
    { shape: '▶', count: open, word: 'open', tone: 'active' },
  ].filter(({ count }) => count > 0)
  if (parts.length === 0) return <Nothing />
  return (
    <span title={parts.map(({ count, word }) => `${count} ${word}`).join(', ')}>
      {parts.map(({ shape, count, word, tone }) => (
        <span key={word} class={`work ${tone}`}>
          <span aria-hidden="true">{shape}</span>
          {count.toLocaleString('en')}
          <span class="visually-hidden"> {word}</span>{' '}
        </span>
      ))}
    </span>
  )
}

function Waits({ instance: { waiting_gates: gates, held_tokens: held } }: { readonly instance: Instance }) {
  const parts = [gates > 0 && `${gates} ${gates === 1 ? 'gate' : 'gates'}`, held > 0 && `${held} held`].filter(Boolean)
  return parts.length === 0 ? <Nothing /> : <span>{parts.join(', ')}</span>
}

function Retry({ of }: { readonly of: string | null }) {
  if (of === null) return <Nothing />
  return (
    <a href={href(`/instances/${of}`)} title={of}>
      <code>{shortId(of)}</code>
    </a>
  )
}
