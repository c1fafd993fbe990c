/** Open and decided gates: mine, or all. `a` approves the selected one, `x` rejects it. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { Answer } from '../../api/answer.ts'
import { readable } from '../../api/batches.ts'
import { api } from '../../api/client.ts'
import { useGrowing } from '../../api/growing.ts'
import { session } from '../../api/session.ts'
import { href, param, setQuery } from '../../browser/router.ts'
import { type Action, ActionButton, usePageActions } from '../../ui/actions.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Term } from '../../ui/explain.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'
import { SeatMarks } from './seats.tsx'
import { type Decision, VoteDialog } from './vote-dialog.tsx'
import { termsOf, type VotableGate, type Voter, whyNoVote } from './voting.ts'

type Row = Exclude<Answer<'GET /v1/gates'>['gates'][number], { readonly error: unknown }>

const STATES = ['open', 'approved', 'rejected', 'closed'] as const
type StateName = (typeof STATES)[number]

export default function Gates() {
  const held = useSignal(false)
  const selected = useSignal<string | null>(null)
  const asking = useSignal<{ readonly id: string; readonly decision: Decision } | null>(null)
  const state = STATES.find((name) => name === param('state')) ?? 'open'
  const mine = param('view') !== 'all'
  const { live, more } = useGrowing<Row, string>(
    state,
    async (before, signal) => {
      const query = { state, limit: 100, ...(before === null ? {} : { before }) }
      const { gates, next_before: next } = await api('GET /v1/gates', { query, signal })
      return { rows: readable<Row>(gates, 'state'), next }
    },
    { hold: held },
  )
  const voter: Voter = { subject: session.value?.subject ?? null, roles: session.value?.roles ?? [] }
  const all = live.data.value?.rows ?? []
  const rows = mine ? all.filter((gate) => concerns(gate, voter)) : all
  const chosen = rows.find(({ id }) => id === selected.value) ?? null
  const actions = useMemo(
    () => votingActions(chosen, voter, (decision) => chosen !== null && ask(chosen.id, decision)),
    [chosen, session.value],
  )
  const ask = (id: string, decision: Decision): void => {
    asking.value = { id, decision }
  }
  usePageActions(actions, [actions])
  return (
    <>
      <h1>Gates</h1>
      <p class="dim">
        A <Term name="gate" /> waits for people. It is approved when its <Term name="quorum" /> is reached.
      </p>
      <Filters mine={mine} state={state} voter={voter} />
      {live.error.value !== null && <Problem error={live.error.value} />}
      {live.data.value === null && live.error.value === null && <p class="dim">Loading …</p>}
      {live.data.value !== null && (
        <Rows
          label="Gates"
          rows={rows}
          columns={COLUMNS}
          keyOf={({ id }) => id}
          hrefOf={({ id }) => href(`/gates/${id}`)}
          onSelect={({ id }) => {
            selected.value = id
          }}
          held={held}
          onEnd={more}
          empty={<NoGates state={state} mine={mine} hidden={all.length} />}
        />
      )}
      {rows.length > 0 && <Below actions={actions} chosen={chosen} />}
      {asking.value !== null && (
        <VoteDialog
          {...asking.value}
          onClose={() => {
            asking.value = null
          }}
          onDone={() => void live.refresh().then(() => live.show())}
        />
      )}
    </>
  )
}

function Below({ actions, chosen }: { readonly actions: readonly Action[]; readonly chosen: Row | null }) {
  return (
    <div class="row below-rows">
      {actions.map((action) => (
        <ActionButton key={action.id} action={action} />
      ))}
      <span class="dim">
        {chosen === null ? 'j and k select a gate, a approves it, x rejects it.' : (titleOf(chosen) ?? chosen.node)}
      </span>
    </div>
  )
}

/** An open one at which the user may vote; a decided one at which the user has. */
function concerns(gate: Row, voter: Voter): boolean {
  if (gate.state === 'open') return whyNoVote(gate, voter) === null
  return Array.isArray(gate.votes) && gate.votes.some(({ by }) => by === voter.subject)
}

function titleOf(gate: Row): string | null {
  return termsOf(gate).title
}

export function votingActions(
  gate: (VotableGate & { readonly id: string }) | null,
  voter: Voter,
  ask: (decision: Decision) => void,
): readonly Action[] {
  const unavailable = gate === null ? 'no gate is selected' : whyNoVote(gate, voter)
  const id = gate?.id ?? 'GATE'
  const action = (decision: Decision, label: string, key: string): Action => ({
    id: decision,
    label,
    key,
    scope: 'enqueue',
    unavailable,
    danger: decision === 'reject',
    command: `petrel ${decision} ${id}`,
    request: { method: 'POST', path: `/v1/gates/${id}/${decision}` },
    run: () => {
      ask(decision)
      return undefined
    },
  })
  return [action('approve', 'Approve …', 'a'), action('reject', 'Reject …', 'x')]
}

const COLUMNS: readonly Column<Row>[] = [
  { key: 'state', title: 'State', width: '7rem', optional: true, cell: ({ state }) => <State state={state} /> },
  {
    key: 'title',
    title: 'What is asked',
    width: 'minmax(5rem, 2fr)',
    cell: (gate) => <bdi title={titleOf(gate) ?? gate.node}>{titleOf(gate) ?? gate.node}</bdi>,
  },
  {
    key: 'node',
    title: 'Step',
    width: 'minmax(6rem, 1fr)',
    optional: true,
    cell: ({ node }) => <bdi title={node}>{node}</bdi>,
  },
  {
    key: 'instance',
    title: 'Instance',
    width: '6.5rem',
    optional: true,
    cell: ({ instance_id: id }) => (
      <a href={href(`/instances/${id}`)} title={id}>
        …{id.slice(-8)}
      </a>
    ),
  },
  { key: 'votes', title: 'Votes', width: '6rem', cell: (gate) => <SeatMarks gate={gate} /> },
  {
    key: 'roles',
    title: 'Who may vote',
    width: 'minmax(6rem, 1fr)',
    optional: true,
    cell: (gate) => {
      const { roles, names } = termsOf(gate)
      const who = names ?? roles ?? []
      return who.length === 0 ? <span class="dim">anyone</span> : <bdi title={who.join(', ')}>{who.join(', ')}</bdi>
    },
  },
  {
    key: 'due',
    title: 'Due',
    width: '6rem',
    cell: (gate) => (gate.state === 'open' ? <Due gate={gate} /> : <Moment at={gate.answered_at} />),
  },
  { key: 'age', title: 'Opened', width: '7rem', optional: true, cell: ({ created_at: at }) => <Moment at={at} /> },
]

function Due({ gate: { due_at: at, on_timeout: then } }: { readonly gate: Row }) {
  if (at === null) return <span class="dim">no deadline</span>
  return (
    <span title={`without a decision it is ${then === 'approve' ? 'approved' : 'rejected'} then`}>
      <Moment at={at} />
    </span>
  )
}

function Filters(props: { readonly mine: boolean; readonly state: StateName; readonly voter: Voter }) {
  const { mine, state, voter } = props
  return (
    <div class="row filters">
      <div role="group" aria-label="Whose gates" class="choices">
        {(
          [
            ['mine', 'Mine', mine],
            ['all', 'All', !mine],
          ] as const
        ).map(([id, text, isOn]) => (
          <button
            type="button"
            key={id}
            aria-pressed={isOn}
            onClick={() => setQuery({ view: id === 'mine' ? null : id })}
          >
            {text}
          </button>
        ))}
      </div>
      <label class="inline">
        State
        <select value={state} onChange={(event) => setQuery({ state: event.currentTarget.value })}>
          {STATES.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <span class="dim">
        {voter.roles.length === 0 ? 'You have no roles.' : `Your roles: ${voter.roles.join(', ')}.`}
      </span>
    </div>
  )
}

function NoGates(props: { readonly state: StateName; readonly mine: boolean; readonly hidden: number }) {
  const { state, mine, hidden } = props
  if (mine && hidden > 0) {
    return (
      <p>
        {state === 'open' ? 'No open gate waits for your vote.' : `You have voted at none of the ${state} gates.`}{' '}
        <a href={href('/gates', { view: 'all', state })}>Show all {hidden}</a>
      </p>
    )
  }
  return (
    <Empty
      what={
        state === 'open'
          ? 'No decision is pending. A workflow with a gate opens one when it gets there.'
          : `There is no ${state} gate.`
      }
      {...(state === 'open' ? { command: 'petrel start payment --input \'{"invoice": 117}\'' } : {})}
    />
  )
}
