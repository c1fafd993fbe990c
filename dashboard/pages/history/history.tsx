/** A history that was downloaded from an instance, opened without a server. */
import { useSignal } from '@preact/signals'
import { useMemo, useRef } from 'preact/hooks'
import { EventList } from '../../ui/history/event-list.tsx'
import { EVERYTHING, type EventFilter, passes } from '../../ui/history/events.ts'
import { type HistoryFile, MOST_BYTES, readHistory } from '../../ui/history/file.ts'
import { type PastStep, pastSteps } from '../../ui/history/steps.ts'
import { JsonText } from '../../ui/json/json.tsx'
import { Took } from '../../ui/moments.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'
import { Tabs } from '../../ui/tabs.tsx'

interface Opened {
  readonly name: string
  readonly history: HistoryFile
}

export default function HistoryPage() {
  const opened = useSignal<Opened | null>(null)
  const mistake = useSignal<string | null>(null)
  const open = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return
    mistake.value = null
    opened.value = null
    try {
      if (file.size > MOST_BYTES) throw new Error(`The file is longer than ${MOST_BYTES / 1024 / 1024} MB.`)
      opened.value = { name: file.name, history: readHistory(await file.text()) }
    } catch (error) {
      mistake.value = (error as Error).message
    }
  }
  return (
    <div class="stack">
      <h1>History file</h1>
      <FileField onOpen={(file) => void open(file)} />
      {mistake.value !== null && (
        <div class="problem" role="alert">
          <strong>{mistake.value}</strong>
          <p>Such a file is downloaded on the tab Events of an instance.</p>
        </div>
      )}
      {opened.value !== null && <Opened key={opened.value.name} opened={opened.value} />}
    </div>
  )
}

function FileField({ onOpen }: { readonly onOpen: (file: File | undefined) => void }) {
  const field = useRef<HTMLInputElement>(null)
  const isOver = useSignal(false)
  return (
    <section
      class={`drop ${isOver.value ? 'over' : ''}`}
      aria-label="Open a file"
      onDragOver={(event) => {
        event.preventDefault()
        isOver.value = true
      }}
      onDragLeave={() => {
        isOver.value = false
      }}
      onDrop={(event) => {
        event.preventDefault()
        isOver.value = false
        onOpen(event.dataTransfer?.files[0])
      }}
    >
      <label>
        <span>Drop the history of an instance here, or choose the file. Nothing of it is sent anywhere.</span>
        <input
          ref={field}
          type="file"
          accept=".json,application/json"
          onChange={({ currentTarget }) => onOpen(currentTarget.files?.[0])}
        />
      </label>
    </section>
  )
}

function Opened({ opened: { name, history } }: { readonly opened: Opened }) {
  const { state, id, facts, error, events, unreadable } = history
  return (
    <>
      <header>
        <h2>
          <bdi class="long-name">{history.name ?? name}</bdi> {state !== null && <State state={state.slice(0, 40)} />}
        </h2>
        {id !== null && <code>{id.slice(0, 200)}</code>}
      </header>
      {error !== null && (
        <p class="problem">
          <bdi class="long-message">{error}</bdi>
        </p>
      )}
      {facts.length > 0 && (
        <dl class="facts">
          {facts.map(([word, value]) => (
            <Fact key={word} word={word} value={value} />
          ))}
        </dl>
      )}
      <p class="dim">
        {events.length.toLocaleString()} events
        {unreadable > 0 && `; ${unreadable} entries are not events and are left out`}
      </p>
      <Tabs
        label="Parts of the history"
        tabs={[
          { id: 'steps', title: 'Steps', content: () => <StepsPart history={history} /> },
          { id: 'events', title: 'Events', content: () => <EventsPart history={history} /> },
          { id: 'data', title: 'Data', content: () => <DataPart history={history} /> },
        ]}
      />
    </>
  )
}

function Fact({ word, value }: { readonly word: string; readonly value: string }) {
  return (
    <>
      <dt>{word}</dt>
      <dd>
        <bdi class="long-name">{value}</bdi>
      </dd>
    </>
  )
}

const COLUMNS: readonly Column<PastStep>[] = [
  {
    key: 'name',
    title: 'Step',
    width: 'minmax(8rem, 2fr)',
    cell: ({ name }) => <bdi title={name.slice(0, 2000)}>{name.slice(0, 500)}</bdi>,
  },
  { key: 'state', title: 'State', width: '7.5rem', cell: ({ state }) => <State state={state} /> },
  { key: 'runs', title: 'Runs', width: '4rem', numeric: true, optional: true, cell: ({ runs }) => runs },
  {
    key: 'failures',
    title: 'Failed',
    width: '4rem',
    numeric: true,
    optional: true,
    cell: ({ failures }) => failures,
  },
  {
    key: 'took',
    title: 'Took',
    width: '6rem',
    numeric: true,
    cell: ({ startedAt, endedAt }) =>
      endedAt === null ? <span class="dim">–</span> : <Took from={startedAt} to={endedAt} />,
  },
  {
    key: 'note',
    title: 'Error, or who',
    width: 'minmax(6rem, 2fr)',
    optional: true,
    cell: ({ error, who }) => (
      <bdi class={error === null ? '' : 'bad-text'} title={(error ?? who ?? '').slice(0, 2000)}>
        {(error ?? who ?? '').slice(0, 300)}
      </bdi>
    ),
  },
]

function StepsPart({ history: { events } }: { readonly history: HistoryFile }) {
  const steps = useMemo(() => pastSteps(events), [events])
  return (
    <>
      <p class="dim">As the events show them: steps that never began are not among them.</p>
      <Rows
        label="Steps"
        rows={steps}
        columns={COLUMNS}
        keyOf={({ name }) => name}
        empty={<p>No event is about a step.</p>}
      />
    </>
  )
}

function EventsPart({ history: { events } }: { readonly history: HistoryFile }) {
  const filter = useSignal<EventFilter>(EVERYTHING)
  const wanted = filter.value
  const rows = useMemo(() => events.filter((event) => passes(event, wanted)), [events, wanted])
  return <EventList label="Events" events={rows} filter={filter} linked={false} />
}

function DataPart({ history: { data } }: { readonly history: HistoryFile }) {
  if (data.length === 0) return <p class="dim">The file has no data besides the events.</p>
  return (
    <div class="stack">
      {data.map(([name, text]) => (
        <section key={name} class="card">
          <h2>{name}</h2>
          <JsonText text={text} name={`${name}.json`} label={name} />
        </section>
      ))}
    </div>
  )
}
