/** Reads steps of an instance. */
import { api } from '../../../api/client.ts'

export type Step = Awaited<ReturnType<typeof api<'GET /v1/instances/:id/steps'>>>['steps'][number]

export interface StepPage {
  readonly steps: readonly Step[]
  readonly total: number
  readonly next: string | null
}

export async function readSteps(
  id: string,
  { after, limit, signal }: { readonly after: string | null; readonly limit: number; readonly signal?: AbortSignal },
): Promise<StepPage> {
  const {
    steps,
    total,
    next_after: next,
  } = await api('GET /v1/instances/:id/steps', {
    params: { id },
    query: { limit, ...(after === null ? {} : { after }) },
    ...(signal === undefined ? {} : { signal }),
  })
  return { steps, total, next }
}

const NODES_AT_ONCE = 2000

/** One step by its name; null: there is none. A page of steps begins after the step before it, so that is found first. */
export async function stepNamed(id: string, name: string, signal?: AbortSignal): Promise<Step | null> {
  const given = signal === undefined ? {} : { signal }
  let before: string | null = null
  let from: string | null = null
  do {
    const marking: Awaited<ReturnType<typeof api<'GET /v1/instances/:id/marking'>>> = await api(
      'GET /v1/instances/:id/marking',
      { params: { id }, query: { limit: NODES_AT_ONCE, ...(from === null ? {} : { from }) }, ...given },
    )
    const at = marking.nodes.indexOf(name)
    if (at >= 0) {
      const after = at === 0 ? before : (marking.nodes[at - 1] ?? null)
      return (await readSteps(id, { after, limit: 1, ...given })).steps[0] ?? null
    }
    before = marking.nodes.at(-1) ?? before
    from = marking.next_from
  } while (from !== null)
  return null
}

/** Of a list the server counts so many items. */
const MOST_COUNTED = 10_000

/** `12 items: 10 succeeded, 2 failed`; null: it is not a list. */
export function countsOf({ items }: Step): string | null {
  if (typeof items !== 'object' || items === null) return null
  const counts = Object.entries(items).filter((entry): entry is [string, number] => typeof entry[1] === 'number')
  const all = counts.reduce((sum, [, count]) => sum + count, 0)
  const parts = counts.filter(([, count]) => count > 0).map(([state, count]) => `${count.toLocaleString()} ${state}`)
  return `${all.toLocaleString()} ${all >= MOST_COUNTED ? 'or more items' : 'items'}${parts.length === 0 || all >= MOST_COUNTED ? '' : `: ${parts.join(', ')}`}`
}
