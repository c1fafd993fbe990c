/** The steps as a table: what the graph shows, as text, with what is nested. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { Changes } from '../../../api/changes.ts'
import { api } from '../../../api/client.ts'
import { useLive } from '../../../api/live.ts'
import { param, setQuery } from '../../../browser/router.ts'
import { Moment, now, span } from '../../../ui/moments.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { type Column, Rows } from '../../../ui/rows.tsx'
import { State } from '../../../ui/state.tsx'
import type { Shown } from '../model.ts'
import { countsOf, readSteps, type Step } from './read.ts'
import { StepDetail } from './step-detail.tsx'
import {
  type Forest,
  isFiltered,
  rowsOf,
  type StepFilter,
  type StepSource,
  StepTree,
  type TreeRow,
} from './step-tree.ts'

/** Steps of one page. */
const PAGE = 500
/** Rows that fill a window. */
const ENOUGH = 40
/** Changes of one request. */
const CHANGES = 2000

const SERVER: StepSource = {
  page: (id, after, signal) => readSteps(id, { after, limit: PAGE, signal }),
  changes: async (id, since, signal) => {
    const names: string[] = []
    for (let after = since; ; ) {
      const query = after === null ? { limit: 1 } : { after, limit: CHANGES }
      const {
        seq,
        nodes,
        has_more: more,
      } = await api('GET /v1/instances/:id/marking', { params: { id }, query, signal })
      if (after !== null) names.push(...nodes)
      if (!more || after === null) return { seq, names }
      after = seq
    }
  },
}

export function StepsTab({ shown, isRunning }: { readonly shown: Shown; readonly isRunning: boolean }) {
  const { instance } = shown.view
  const tree = useRef(new StepTree(instance.id, SERVER)).current
  const filter = useSignal<StepFilter>({ text: '', state: '' })
  const concerns = ({ instances, more }: Changes): boolean => more || [...instances.keys()].some((id) => tree.has(id))
  const live = useLive(`steps ${instance.id}`, (signal) => tree.read(signal), { concerns })
  const forest = live.data.value
  const rows = useMemo(
    () => (forest === null ? [] : rowsOf(forest, instance.id, filter.value)),
    [forest, instance.id, filter.value],
  )
  // While few steps pass the filter, further pages are read until there are enough.
  const of = forest?.get(instance.id)
  useEffect(() => {
    if (of?.hasMore !== true || rows.length >= ENOUGH || !isFiltered(filter.value)) return
    tree.more(instance.id)
    void live.refresh()
  }, [of, filter.value])
  if (live.error.value !== null && forest === null) return <Problem error={live.error.value} />
  if (forest === null) return <p class="dim">Loading …</p>
  const more = (id: string): void => {
    tree.more(id)
    void live.refresh()
  }
  const toggle = (id: string): void => {
    tree.toggle(id)
    void live.refresh()
  }
  const step = param('step')
  const inside = param('in') === '' ? instance.id : param('in')
  return (
    <div class="steps-tab">
      <div class="stack">
        <FilterBar filter={filter} forest={forest} root={instance.id} />
        <Rows
          label="Steps"
          rows={rows}
          columns={columnsOf(toggle, more).filter(({ key }) => step === '' || !LESS.has(key))}
          keyOf={({ key }) => key}
          onSelect={(row) => {
            if (row.kind !== 'step') return
            setQuery({ step: row.step.name, in: row.instance === instance.id ? null : row.instance })
          }}
          onEnd={() => {
            if (forest.get(instance.id)?.hasMore === true) more(instance.id)
          }}
          empty={<p>{forest.get(instance.id)?.total === 0 ? 'It has no steps.' : 'No step passes this filter.'}</p>}
        />
      </div>
      {step !== '' && (
        <StepDetail
          key={`${inside} ${step}`}
          instance={inside}
          name={step}
          row={forest.get(inside)?.steps.find(({ name }) => name === step) ?? null}
          waits={inside === instance.id ? shown.why.waits.filter(({ node }) => node === step) : []}
          isRunning={isRunning}
        />
      )}
    </div>
  )
}

const STATES = ['', 'unfinished', 'pending', 'running', 'completed', 'failed', 'skipped'] as const

function FilterBar(props: { readonly filter: Signal<StepFilter>; readonly forest: Forest; readonly root: string }) {
  const { filter, forest, root } = props
  const of = forest.get(root)
  const read = of?.steps.length ?? 0
  return (
    <div class="row">
      <label class="inline grow">
        <span class="visually-hidden">Find a step</span>
        <input
          type="text"
          data-search
          placeholder="Find a step by its name or type"
          value={filter.value.text}
          onInput={({ currentTarget }) => {
            filter.value = { ...filter.value, text: currentTarget.value }
          }}
        />
      </label>
      <label class="inline">
        State
        <select
          value={filter.value.state}
          onChange={({ currentTarget }) => {
            filter.value = { ...filter.value, state: currentTarget.value }
          }}
        >
          {STATES.map((state) => (
            <option key={state} value={state}>
              {state === '' ? 'any' : state}
            </option>
          ))}
        </select>
      </label>
      <span class="dim">{read === of?.total ? `${read} steps` : `${read} of ${of?.total ?? 0} steps read`}</span>
    </div>
  )
}

/** Columns that the selected step shows. */
const LESS: ReadonlySet<string> = new Set(['attempts', 'started', 'note'])

function columnsOf(toggle: (id: string) => void, more: (id: string) => void): readonly Column<TreeRow>[] {
  const of = (cell: (step: Step) => preact.ComponentChildren) => (row: TreeRow) =>
    row.kind === 'step' ? cell(row.step) : ''
  return [
    {
      key: 'name',
      title: 'Step',
      width: 'minmax(6rem, 3fr)',
      cell: (row) => <NameCell row={row} toggle={toggle} more={more} />,
    },
    { key: 'state', title: 'State', width: '7.5rem', cell: of(({ state }) => <State state={state} />) },
    {
      key: 'work',
      title: 'Work',
      width: 'minmax(5rem, 2fr)',
      optional: true,
      cell: of((step) => <Work step={step} />),
    },
    {
      key: 'attempts',
      title: 'Attempts',
      width: '4.5rem',
      numeric: true,
      optional: true,
      cell: of(({ attempts, kind }) => (kind === 'run' ? attempts : '')),
    },
    { key: 'took', title: 'Took', width: '4.5rem', numeric: true, cell: of((step) => <Length step={step} />) },
    {
      key: 'started',
      title: 'Started',
      width: '7rem',
      optional: true,
      cell: of(({ started_at: at }) => <Moment at={at} />),
    },
    {
      key: 'note',
      title: 'Error, or who',
      width: 'minmax(5rem, 2fr)',
      optional: true,
      cell: of((step) => <Note step={step} />),
    },
  ]
}

function NameCell(props: {
  readonly row: TreeRow
  readonly toggle: (id: string) => void
  readonly more: (id: string) => void
}) {
  const { row, toggle, more } = props
  const indent = { paddingInlineStart: `${row.depth * 1.2}rem` }
  if (row.kind === 'more') {
    return (
      <span style={indent}>
        <button type="button" class="small" onClick={() => more(row.instance)}>
          {row.left} more steps
        </button>
      </span>
    )
  }
  const { step, isOpen, depth } = row
  const child = step.child_id
  return (
    <span style={indent} title={step.name.slice(0, 2000)}>
      {isOpen !== null && child !== null ? (
        <button
          type="button"
          class="small plain expand"
          aria-expanded={isOpen}
          aria-label={`Steps inside of ${step.name.slice(0, 80)}`}
          onClick={(event) => {
            // Opening a nested instance does not select the step.
            event.stopPropagation()
            toggle(child)
          }}
        >
          {isOpen ? '▾' : '▸'}
        </button>
      ) : (
        <span class="expand" />
      )}
      {depth > 0 && <span class="visually-hidden">level {depth + 1}: </span>}
      <bdi>{step.name.slice(0, 500)}</bdi>
    </span>
  )
}

function Work({ step }: { readonly step: Step }) {
  const items = countsOf(step)
  if (items !== null) return <span title={items}>{items}</span>
  if (step.kind === 'gate') return <span>people decide</span>
  if (step.kind === 'child') return <span>nested workflow</span>
  return <bdi title={step.type ?? ''}>{step.type ?? step.kind}</bdi>
}

function Length({ step: { started_at: from, ended_at: to, duration_ms: took, state } }: { readonly step: Step }) {
  if (took !== null) return <>{span(took)}</>
  if (from === null || (to === null && state !== 'running')) return <span class="dim">–</span>
  return <>{span((to === null ? now.value : Date.parse(to)) - Date.parse(from))}</>
}

function Note({ step: { error, worker, decided_by: who } }: { readonly step: Step }) {
  const message = (error as { readonly message?: unknown } | null)?.message
  if (typeof message === 'string')
    return (
      <bdi class="bad-text" title={message.slice(0, 2000)}>
        {message.slice(0, 300)}
      </bdi>
    )
  const name = who ?? worker
  return name === null ? <span class="dim">–</span> : <bdi title={name}>{name}</bdi>
}
