/** An instance as its page reads it: the view, with its data as they were written, and the reasons why it waits. */
import type { Changes } from '../../api/changes.ts'
import { api, rawText } from '../../api/client.ts'
import { type Live, useLive } from '../../api/live.ts'
import { memberAt, membersOf } from '../../ui/json/json-members.ts'

export type View = Awaited<ReturnType<typeof api<'GET /v1/instances/:id'>>>
export type Instance = View['instance']
export type Why = Awaited<ReturnType<typeof api<'GET /v1/instances/:id/why'>>>
export type Wait = Why['waits'][number]
export type Reason = Wait['reasons'][number]

/** An error as /v1 shows it. */
export interface Failure {
  readonly code: string | null
  readonly message: string
  readonly node: string | null
  readonly category: string | null
  readonly hint: string | null
}

export interface Shown {
  readonly view: View
  readonly why: Why
  /** `input`, `context`, `results` and `meta` as the server wrote them. */
  readonly texts: ReadonlyMap<string, string>
}

export { ENDED } from './actions/states.ts'

/** Whether a change on the server may concern this instance. */
export function about(id: string): (changes: Changes) => boolean {
  return ({ instances, more }) => more || instances.has(id)
}

const MOST_WAITS = 100
const TEXTS = ['input', 'context', 'results', 'meta']

export function useInstance(id: string): Live<Shown> {
  return useLive(
    `instance ${id}`,
    async (signal) => {
      const [text, why] = await Promise.all([
        rawText(`/v1/instances/${encodeURIComponent(id)}?limit=1`, signal),
        api('GET /v1/instances/:id/why', { params: { id }, query: { limit: MOST_WAITS }, signal }),
      ])
      const members = membersOf(text)
      const texts = new Map(TEXTS.map((name) => [name, members.get(name) ?? 'null']))
      return { view: JSON.parse(text) as View, why, texts }
    },
    { concerns: about(id) },
  )
}

/** The payload of a run, as written. */
export async function payloadOf(run: string, signal?: AbortSignal): Promise<string> {
  return memberAt(await rawText(`/v1/runs/${encodeURIComponent(run)}`, signal), 'run', 'payload') ?? 'null'
}

/** null: there is no error. */
export function failureOf(error: unknown): Failure | null {
  if (typeof error === 'string') return { code: null, message: error, node: null, category: null, hint: null }
  if (typeof error !== 'object' || error === null) return null
  const parts = error as Readonly<Record<string, unknown>>
  const word = (name: string): string | null => (typeof parts[name] === 'string' ? (parts[name] as string) : null)
  const code = word('code')
  const message = word('message') ?? code ?? JSON.stringify(error)
  return { code, message, node: word('node'), category: word('category'), hint: word('hint') }
}
