/** What the executions of a run have logged, with what follows. */
import { type Signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { StreamEvent } from '../../api/event-stream.ts'
import { follow } from '../../api/follow.ts'
import { DownloadButton } from '../json/json.tsx'
import { Problem } from '../problem.tsx'
import { type Column, Rows } from '../rows.tsx'
import { type LogLine, linesIn, lineText, missingBefore } from './lines.ts'

const COLUMNS: readonly Column<LogLine>[] = [
  {
    key: 'at',
    title: 'Time',
    width: '8.5rem',
    optional: true,
    cell: ({ at }) =>
      at === null ? (
        ''
      ) : (
        <time class="clock" dateTime={at} title={at}>
          {at.slice(11, 23)}
        </time>
      ),
  },
  { key: 'attempt', title: 'Attempt', width: '4.5rem', numeric: true, optional: true, cell: ({ attempt }) => attempt },
  {
    key: 'level',
    title: 'Level',
    width: '4rem',
    cell: ({ level, stream }) => <span class={`log-level ${level}`}>{stream ?? level}</span>,
  },
  {
    key: 'text',
    title: 'Text',
    width: 'minmax(10rem, 1fr)',
    cell: (line) => (
      <code title={line.text.slice(0, 2000)}>
        <bdi>{line.text.slice(0, 500)}</bdi>
        {line.fields === null ? '' : ` ${line.fields.slice(0, 200)}`}
      </code>
    ),
  },
]

export function LogView({ run }: { readonly run: string }) {
  const lines = useSignal<readonly LogLine[]>([])
  const ended = useSignal(false)
  const error = useSignal<Error | null>(null)
  const atEnd = useSignal(true)
  const chosen = useSignal<LogLine | null>(null)
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    lines.value = []
    return follow(`/v1/runs/${encodeURIComponent(run)}/log`, {
      after: 0,
      onEvents: (events) => append(lines, events),
      onEnd: () => {
        ended.value = true
      },
      onError: (refused) => {
        error.value = refused
      },
    })
  }, [run])
  useEffect(() => {
    const view = box.current?.querySelector('.rows-view')
    if (atEnd.value && view != null) view.scrollTop = view.scrollHeight
  }, [lines.value.length, atEnd.value])
  if (error.value !== null) return <Problem error={error.value} />
  if (lines.value.length === 0) {
    return <p class="dim">{ended.value ? 'Nothing was logged.' : 'Nothing has been logged yet.'}</p>
  }
  return (
    <div ref={box} class="log">
      <LogHead lines={lines.value} ended={ended.value} atEnd={atEnd} />
      <Rows
        label="Log"
        rows={lines.value}
        columns={COLUMNS}
        keyOf={({ attempt, number }) => `${attempt}.${number}`}
        onSelect={(line) => {
          chosen.value = line
        }}
        height={`min(${lines.value.length * 34 + 2}px, 40vh)`}
      />
      {chosen.value !== null && (
        <pre>
          {chosen.value.text}
          {chosen.value.fields !== null && `\n${chosen.value.fields}`}
        </pre>
      )}
    </div>
  )
}

function LogHead(props: {
  readonly lines: readonly LogLine[]
  readonly ended: boolean
  readonly atEnd: Signal<boolean>
}) {
  const { lines, ended, atEnd } = props
  const missing = lines.reduce((count, line, i) => count + missingBefore(line, lines[i - 1]), 0)
  return (
    <div class="row">
      <span class="grow dim">
        {lines.length} lines{missing > 0 && `; ${missing} were not kept`}
        {ended ? '' : '; more may follow'}
      </span>
      <label class="inline">
        <input
          type="checkbox"
          checked={atEnd.value}
          onChange={({ currentTarget }) => {
            atEnd.value = currentTarget.checked
          }}
        />
        Follow
      </label>
      <DownloadButton text={lines.map(lineText).join('\n')} name="run.log" type="text/plain" />
    </div>
  )
}

function append(lines: Signal<readonly LogLine[]>, events: readonly StreamEvent[]): void {
  lines.value = [...lines.value, ...events.flatMap(({ data }) => linesIn(data))]
}
