/** Failures by their cause, the most recent first; and the way to the dead letters. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { href, param, setQuery } from '../../browser/router.ts'
import { usePageActions } from '../../ui/actions.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Term } from '../../ui/explain.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { countText } from '../../ui/search/counts.tsx'
import { GroupState, instancesOf, isOfRuns, runsOf } from './parts.tsx'

type Group = Answer<'GET /v1/error-groups'>['groups'][number]

const STATES = ['open', 'ignored', 'resolved'] as const
const PAGE = 200
/** Pages that are kept up to date; a search narrows what is beyond them. */
const MOST_PAGES = 10

const COLUMNS: readonly Column<Group>[] = [
  { key: 'state', title: 'State', width: 'minmax(5rem, 7rem)', cell: (group) => <GroupState group={group} /> },
  {
    key: 'message',
    title: 'Message',
    width: 'minmax(5rem, 3fr)',
    cell: ({ fingerprint, message }) => (
      <a href={href(`/errors/${fingerprint}`)} title={message}>
        <bdi>{message === '' ? 'no message' : message}</bdi>
      </a>
    ),
  },
  { key: 'code', title: 'Code', width: 'minmax(4rem, 1fr)', optional: true, cell: ({ code }) => <Text text={code} /> },
  {
    key: 'work',
    title: 'Work',
    width: 'minmax(5rem, 1.2fr)',
    optional: true,
    cell: ({ type, node }) => <Text text={node === null ? type : `${type}, step ${node}`} />,
  },
  {
    key: 'in',
    title: 'In',
    width: 'minmax(4rem, 0.8fr)',
    optional: true,
    cell: ({ definitions }) => <Text text={definitions.join(', ')} />,
  },
  { key: 'count', title: 'Count', width: '4.5rem', numeric: true, cell: (group) => <Count group={group} /> },
  { key: 'first', title: 'First', width: '7.5rem', optional: true, cell: ({ first_seen: at }) => <Moment at={at} /> },
  { key: 'last', title: 'Last', width: 'minmax(5rem, 7.5rem)', cell: ({ last_seen: at }) => <Moment at={at} /> },
]

export default function Errors() {
  const text = param('q')
  const states = chosenStates(text)
  const pages = useSignal(1)
  const held = useSignal(false)
  const key = `error groups ${states.join()} ${text}`
  useEffect(() => {
    pages.value = 1
  }, [key])
  const live = useLive(key, (signal) => readGroups(states, text, pages.peek(), signal), {
    hold: held,
    concerns: ({ areas }) => areas.has('errors'),
  })
  const last = useRef<Found | null>(null)
  if (live.data.value !== null) last.current = live.data.value
  const found = last.current
  usePageActions([], [])
  const more = (): void => {
    if (found?.next == null || pages.value >= MOST_PAGES || pages.value > found.pages) return
    pages.value += 1
    void live.refresh().then(() => live.show())
  }
  return (
    <>
      <div class="row page-head">
        <h1>Errors</h1>
        <Term name="error group" label="?" />
        <span class="grow" />
        <DeadLetters />
      </div>
      <div class="row list-tools">
        <StateToggles states={states} text={text} />
        <Find text={text} />
        {live.waiting.value && (
          <button type="button" class="small primary" onClick={() => live.show()}>
            ↑ Show what is new
          </button>
        )}
      </div>
      {live.error.value !== null && <Problem error={live.error.value} />}
      {found !== null && (
        <div class={live.data.value === null ? 'stale' : ''}>
          <Rows
            label="Error groups"
            rows={found.groups}
            columns={COLUMNS}
            keyOf={({ fingerprint }) => fingerprint}
            hrefOf={({ fingerprint }) => href(`/errors/${fingerprint}`)}
            held={held}
            onEnd={more}
            empty={<Empty what={emptyText(states, text)} command="petrel errors" />}
          />
          {found.next !== null && <p class="foot dim">There are more groups; a search narrows them.</p>}
        </div>
      )}
    </>
  )
}

interface Found {
  readonly groups: readonly Group[]
  readonly next: string | null
  readonly pages: number
}

type GroupStateName = (typeof STATES)[number]

async function readGroups(
  states: readonly GroupStateName[],
  text: string,
  pages: number,
  signal: AbortSignal,
): Promise<Found> {
  const groups: Group[] = []
  let next: string | null = null
  for (let page = 0; page < pages; page++) {
    const query = {
      limit: PAGE,
      state: states.join(),
      ...(text === '' ? {} : { q: text }),
      ...(next === null ? {} : { before: next }),
    }
    const reply: Answer<'GET /v1/error-groups'> = await api('GET /v1/error-groups', { query, signal })
    groups.push(...reply.groups)
    next = reply.next_before
    if (next === null) break
  }
  return { groups, next, pages }
}

/** Without a choice those that need attention; of a search, all. */
function usualStates(text: string): readonly GroupStateName[] {
  return text === '' ? ['open'] : STATES
}

function chosenStates(text: string): readonly GroupStateName[] {
  const given = param('state').split(',')
  const chosen = STATES.filter((state) => given.includes(state))
  return chosen.length === 0 ? usualStates(text) : chosen
}

function emptyText(states: readonly GroupStateName[], text: string): string {
  if (text !== '') return `No ${states.join(' or ')} group contains this text.`
  return states.length === 1 && states[0] === 'open'
    ? 'Nothing has failed for good.'
    : `No group is ${states.join(' or ')}.`
}

function StateToggles({ states, text }: { readonly states: readonly GroupStateName[]; readonly text: string }) {
  const toggle = (state: GroupStateName): void => {
    const next = STATES.filter((one) => (one === state) !== states.includes(one))
    setQuery({ state: next.join() === usualStates(text).join() ? null : next.join() })
  }
  return (
    <fieldset class="counts">
      <legend class="visually-hidden">Only in this state</legend>
      {STATES.map((state) => (
        <button
          type="button"
          key={state}
          class="count"
          aria-pressed={states.includes(state)}
          onClick={() => toggle(state)}
        >
          {state}
        </button>
      ))}
    </fieldset>
  )
}

const DEBOUNCE_MS = 250

function Find({ text }: { readonly text: string }) {
  const value = useSignal(text)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return (
    <input
      type="search"
      class="grow find-group"
      data-search
      aria-label="Part of the type, the code, the step, the message or the name of a workflow"
      placeholder="Part of a type, a code, a step, a message or a workflow"
      value={value.value}
      onInput={(event) => {
        value.value = event.currentTarget.value
        clearTimeout(timer.current)
        timer.current = setTimeout(() => setQuery({ q: value.value.trim() }), DEBOUNCE_MS)
      }}
    />
  )
}

function DeadLetters() {
  const live = useLive(
    'dead letters',
    async (signal) => (await api('GET /v1/runs/counts', { query: { q: 'dead:true' }, signal })).counts,
    { atMostEveryMs: 5_000, concerns: ({ areas }) => areas.has('errors') || areas.has('runs') },
  )
  const counts = live.data.value ?? []
  const count = counts.reduce((sum, one) => sum + one.count, 0)
  return (
    <span>
      <a href={href('/runs', { q: 'dead:true' })}>
        {live.data.value === null ? '' : `${countText({ count, more: counts.some(({ more }) => more) })} `}dead letters
      </a>{' '}
      <Term name="dead letter" label="?" />
    </span>
  )
}

function Count({ group }: { readonly group: Group }) {
  const address = isOfRuns(group) ? href('/runs', { q: runsOf(group) }) : href('/instances', { q: instancesOf(group) })
  return <a href={address}>{group.count.toLocaleString('en')}</a>
}

function Text({ text }: { readonly text: string | null }) {
  return text === null || text === '' ? <span class="dim">–</span> : <bdi title={text}>{text}</bdi>
}
