/** What went into a step and came out of it, digit by digit, and what it has logged. */
import { useSignal } from '@preact/signals'
import { api, rawText } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { Empty } from '../../ui/empty.tsx'
import { JsonText } from '../../ui/json/json.tsx'
import { memberAt } from '../../ui/json/json-members.ts'
import { Problem } from '../../ui/problem.tsx'

function Text(props: { readonly path: string; readonly member: readonly string[]; readonly name: string }) {
  const { path, member, name } = props
  const { data, error } = useLive(`${path} ${member.join('.')}`, (signal) => rawText(path, signal), {
    concerns: () => false,
  })
  if (error.value !== null) return <Problem error={error.value} />
  if (data.value === null) return <p class="dim">Loading …</p>
  return <JsonText text={memberAt(data.value, ...member) ?? 'null'} name={`${name}.json`} label={name} />
}

export function Input({ run }: { readonly run: string }) {
  return <Text path={`/v1/runs/${run}`} member={['run', 'payload']} name="input" />
}

export function Output({ id, node }: { readonly id: string; readonly node: string }) {
  const path = `/v1/instances/${id}/results/${encodeURIComponent(node)}`
  return <Text path={path} member={['result']} name="output" />
}

type Line = Awaited<ReturnType<typeof readLog>>['lines'][number]

function readLog(run: string, after: number, signal?: AbortSignal) {
  return api('GET /v1/runs/:id/log', { params: { id: run }, query: { after }, ...(signal && { signal }) })
}

/** Lines that are in the document at first; a part of the log may have thousands. */
const FIRST_LINES = 300

export function Log({ run }: { readonly run: string }) {
  const { data, error } = useLive(`log ${run}`, (signal) => readLog(run, 0, signal))
  const more = useSignal<readonly Line[]>([])
  const next = useSignal<number | null>(null)
  const shown = useSignal(FIRST_LINES)
  if (error.value !== null) return <Problem error={error.value} />
  const first = data.value
  if (first === null) return <p class="dim">Loading …</p>
  const lines = [...first.lines, ...more.value]
  if (lines.length === 0) return <Empty what="Nothing was logged." command={`petrel logs ${run}`} />
  const isMore = shown.value < lines.length || (next.value === null ? first.has_more : next.value >= 0)
  const readOn = async (): Promise<void> => {
    shown.value += FIRST_LINES
    if (shown.value <= lines.length || (next.value ?? 0) < 0) return
    if (next.value === null && !first.has_more) return
    const page = await readLog(run, next.value ?? first.next_after)
    more.value = [...more.value, ...page.lines]
    next.value = page.has_more ? page.next_after : -1
  }
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard */}
      <pre class="graph-log" tabIndex={0} role="region" aria-label="Log">
        {lines.slice(0, shown.value).map(({ attempt, number, at, level, text }) => (
          <div key={`${attempt} ${number}`} class={level === 'error' || level === 'warn' ? level : ''}>
            <time dateTime={at ?? ''} title={`attempt ${attempt}, ${at ?? ''}`}>
              {at?.slice(11, 23)}
            </time>{' '}
            {level !== 'info' && <b>{level}</b>} <bdi>{text.slice(0, 10_000)}</bdi>
          </div>
        ))}
      </pre>
      {isMore && (
        <button type="button" class="small" onClick={() => void readOn()}>
          More lines
        </button>
      )}
    </>
  )
}
