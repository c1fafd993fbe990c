/** The nodes of a net as a table, which says in words what the picture shows. */
import type { Net } from '../../../src/net/net.ts'
import { Term } from '../../ui/explain.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { type NetDiff, type NodeLine, outlineOf } from './net-model.ts'

interface Row extends NodeLine {
  readonly change: keyof typeof SIGNS | null
  readonly members: readonly string[]
}

/** With `diff` and `before`: what has changed is marked, and removed nodes are listed as well. */
export function NetTable({ net, before, diff }: { readonly net: Net; readonly before?: Net; readonly diff?: NetDiff }) {
  const added = new Set(diff?.added)
  const removed = new Set(diff?.removed)
  const rerouted = new Set(diff?.rerouted)
  const changed = new Map(diff?.changed.map(({ key, members }) => [key, members]))
  const current = outlineOf(net).map(
    (line): Row => ({
      ...line,
      change: added.has(line.key)
        ? 'added'
        : changed.has(line.key)
          ? 'changed'
          : rerouted.has(line.key)
            ? 'rerouted'
            : null,
      members: changed.get(line.key) ?? [],
    }),
  )
  const gone = (before === undefined ? [] : outlineOf(before))
    .filter(({ key }) => removed.has(key))
    .map((line): Row => ({ ...line, change: 'removed', members: [] }))
  const rows = [...current, ...gone]
  return (
    <>
      <p class="dim">
        {rows.length} {rows.length === 1 ? 'node' : 'nodes'} of the <Term name="net" />
      </p>
      <Rows
        label="Nodes of the net"
        rows={rows}
        columns={diff === undefined ? COLUMNS : [CHANGE, ...COLUMNS]}
        keyOf={({ key, change }) => `${change} ${key}`}
        empty={<p>The net has no nodes.</p>}
      />
    </>
  )
}

const SIGNS = {
  added: '+ added',
  removed: '− removed',
  changed: '≠ changed',
  rerouted: '→ continues elsewhere',
} as const

const CHANGE: Column<Row> = {
  key: 'change',
  title: 'Change',
  width: 'minmax(6rem, 1fr)',
  cell: ({ change, members }) =>
    change === null ? (
      <span class="dim">same</span>
    ) : (
      <span class={`change ${change}`} title={members.join(', ')}>
        {SIGNS[change]} {members.join(', ')}
      </span>
    ),
}

const COLUMNS: readonly Column<Row>[] = [
  {
    key: 'key',
    title: 'Node',
    width: 'minmax(5rem, 1fr)',
    cell: ({ key, isEntry, final }) => (
      <span title={key}>
        {isEntry && <span title="begins here">▸ </span>}
        <bdi>{key}</bdi>
        {final !== null && <span class="dim"> at the end, {final === 'always' ? 'always' : `on ${final}`}</span>}
      </span>
    ),
  },
  { key: 'kind', title: 'Kind', width: '4rem', cell: ({ kind }) => kind },
  {
    key: 'what',
    title: 'What it does',
    width: 'minmax(6rem, 1.5fr)',
    optional: true,
    cell: ({ what }) => <bdi title={what}>{what}</bdi>,
  },
  {
    key: 'next',
    title: 'Then',
    width: 'minmax(5rem, 1.5fr)',
    cell: ({ next }) => {
      const text = next.map(({ to, when }) => (when === null ? to : `${to} if ${when}`)).join(', ')
      return text === '' ? <span class="dim">ends</span> : <bdi title={text}>→ {text}</bdi>
    },
  },
  {
    key: 'undo',
    title: 'Undone by',
    width: 'minmax(4rem, 1fr)',
    optional: true,
    cell: ({ undo }) => (undo === null ? <span class="dim">–</span> : <bdi title={undo}>{undo}</bdi>),
  },
]
