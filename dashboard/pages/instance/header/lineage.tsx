/** The chain of retries and forks: what this instance repeats, and what repeats it. */
import { api } from '../../../api/client.ts'
import { useLive } from '../../../api/live.ts'
import { href } from '../../../browser/router.ts'
import { Moment } from '../../../ui/moments.tsx'
import { State } from '../../../ui/state.tsx'
import type { Instance } from '../model.ts'

/** Links of the chain that are read in each direction. */
const MOST = 10
/** An instance records what it repeats among its first events. */
const FIRST_EVENTS = 5

interface Link {
  readonly instance: Instance
  readonly how: 'retry' | 'fork' | null
}

interface Chain {
  /** The oldest first. */
  readonly before: readonly Link[]
  readonly own: Link
  readonly after: readonly Link[]
  readonly more: boolean
}

export function Lineage({ instance }: { readonly instance: Instance }) {
  const { data } = useLive(`lineage ${instance.id}`, (signal) => readChain(instance, signal), {
    // A retry is a change of another instance.
    atMostEveryMs: 10_000,
  })
  const chain = data.value
  if (chain === null || (chain.before.length === 0 && chain.after.length === 0)) return null
  return (
    <nav aria-label="Retries and forks">
      <ol class="lineage">
        {[...chain.before, chain.own].map((link) => (
          <Entry key={link.instance.id} link={link} isOwn={link === chain.own} />
        ))}
        {chain.after.map((link) => (
          <Entry key={link.instance.id} link={link} isOwn={false} />
        ))}
      </ol>
      {chain.more && <p class="dim">There are more; follow the links.</p>}
    </nav>
  )
}

function Entry({ link: { instance, how }, isOwn }: { readonly link: Link; readonly isOwn: boolean }) {
  const { id, state, created_at: at } = instance
  return (
    <li aria-current={isOwn ? 'true' : undefined}>
      <span class="dim">{how === null ? (instance.retry_of === null ? 'first' : 'repeat') : how}</span>{' '}
      {isOwn ? <strong>this one</strong> : <a href={href(`/instances/${id}`)}>{`…${id.slice(-12)}`}</a>}{' '}
      <State state={state} /> <Moment at={at} />
    </li>
  )
}

async function readChain(instance: Instance, signal: AbortSignal): Promise<Chain> {
  const before: Link[] = []
  let at = instance
  while (at.retry_of !== null && before.length < MOST) {
    const earlier = await readOne(at.retry_of, signal)
    if (earlier === null) break
    before.unshift(await linkOf(earlier, signal))
    at = earlier
  }
  const { instances } = await api('GET /v1/instances', { query: { retry_of: instance.id, limit: MOST }, signal })
  const repeats = instances.flatMap((row) => ('name' in row ? [row] : [])).reverse()
  const after = await Promise.all(repeats.map((row) => linkOf(row, signal)))
  const more = repeats.length === MOST || (before[0]?.instance.retry_of ?? null) !== null
  return { before, own: await linkOf(instance, signal), after, more }
}

/** null: retention has removed it. */
async function readOne(id: string, signal: AbortSignal): Promise<Instance | null> {
  try {
    return (await api('GET /v1/instances/:id/why', { params: { id }, query: { limit: 1 }, signal })).instance
  } catch (error) {
    if (signal.aborted) throw error
    return null
  }
}

async function linkOf(instance: Instance, signal: AbortSignal): Promise<Link> {
  if (instance.retry_of === null) return { instance, how: null }
  const query = { limit: FIRST_EVENTS }
  const { events } = await api('GET /v1/instances/:id/events', { params: { id: instance.id }, query, signal })
  const types = events.map((event) => ('type' in event ? event.type : ''))
  const how = types.includes('instance.forks') ? 'fork' : types.includes('instance.retries') ? 'retry' : null
  return { instance, how }
}
