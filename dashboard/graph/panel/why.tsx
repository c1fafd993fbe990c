/** Why a part has not ended, with the command that helps. */
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { State } from '../../ui/state.tsx'
import type { Face } from '../canvas/picture.ts'
import type { Source } from '../instance-model.ts'
import type { Part } from '../model/drawing.ts'
import { type Reason, reasonLines } from './commands.ts'

/** Pages of the answer that are read to find a part; those at which something is come first. */
const MOST_PAGES = 5
const MOST_REASONS = 12
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'skipped'])

async function reasonsOf(id: string, node: string, signal: AbortSignal): Promise<readonly Reason[] | null> {
  let after: string | null = null
  for (let page = 0; page < MOST_PAGES; page++) {
    const query = { limit: 100, ...(after === null ? {} : { after }) }
    const answer: Awaited<ReturnType<typeof readWhy>> = await readWhy(id, query, signal)
    const own = answer.waits.filter((wait) => wait.node === node)
    if (own.length > 0) return own.flatMap(({ reasons }) => reasons as unknown as readonly Reason[])
    after = answer.next_after
    if (after === null) return null
  }
  return null
}

function readWhy(id: string, query: { readonly limit: number; readonly after?: string }, signal: AbortSignal) {
  return api('GET /v1/instances/:id/why', { params: { id }, query, signal })
}

interface WhyProps {
  readonly source: Source
  readonly part: Part
  readonly face: Face
}

export function Why({ source, part, face }: WhyProps) {
  const hasEnded = ENDED.has(face.state)
  const isOver = source.live.marking.value?.instance.ended_at != null
  if (hasEnded || isOver || part.shape === 'join') return null
  // Another state has other reasons.
  return <Reasons key={`${part.key} ${face.state}`} source={source} part={part} />
}

function Reasons({ source, part }: Pick<WhyProps, 'source' | 'part'>) {
  const { id } = source
  const { data, loading } = useLive(`why ${id} ${part.key}`, (signal) => reasonsOf(id, part.key, signal), {
    concerns: ({ instances, more }) => more || instances.has(id),
    everyMs: 5_000,
  })
  if (loading.value && data.value === null) return <p class="dim">Loading …</p>
  const reasons = data.value
  return (
    <section class="graph-why">
      <h3>Why it waits</h3>
      {reasons === null ? <Before source={source} part={part} /> : <Lines reasons={reasons} />}
    </section>
  )
}

function Lines({ reasons }: { readonly reasons: readonly Reason[] }) {
  const lines = reasonLines(reasons)
  return (
    <ul>
      {lines.slice(0, MOST_REASONS).map(({ text, command, depth }, i) => (
        <li key={i} style={{ marginLeft: `${Math.min(depth, 5)}rem` }}>
          <bdi>{text}</bdi>
          {command !== null && (
            <div>
              <code>{command}</code> <CopyButton text={command} label="copy" />
            </div>
          )}
        </li>
      ))}
      {lines.length > MOST_REASONS && <li class="dim">and {lines.length - MOST_REASONS} more</li>}
    </ul>
  )
}

/** What the net itself says: the nodes before it. */
function Before({ source, part }: Pick<WhyProps, 'source' | 'part'>) {
  const { drawing, live } = source
  const at = drawing.byKey.get(part.key)
  const marks = live.marking.value?.marks
  const before = drawing.links.flatMap(({ kind, from, to }) => (kind === 'arc' && to === at ? [from] : []))
  if (before.length === 0) return <p>It has not been reached.</p>
  return (
    <ul>
      {before.slice(0, MOST_REASONS).map((from) => {
        const { key } = drawing.parts[from] as Part
        return (
          <li key={key}>
            after <bdi>{key}</bdi> <State state={marks?.get(key)?.state ?? 'pending'} />
          </li>
        )
      })}
    </ul>
  )
}
