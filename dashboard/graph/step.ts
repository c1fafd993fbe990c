/** One step of an instance: steps are pages in the order of the net, so it is the page after the step before it. */
import { AnswerError, api } from '../api/client.ts'
import type { Drawing } from './model/drawing.ts'

export type Step = NonNullable<Awaited<ReturnType<typeof readStep>>>

/** null: the notation does not show it as a step. */
export async function readStep(id: string, { parts, byKey }: Drawing, key: string, signal?: AbortSignal) {
  let at = (byKey.get(key) ?? 0) - 1
  while (at >= 0 && parts[at]?.shape === 'join') at--
  const before = parts[at]?.key
  const query = { limit: 1, ...(before === undefined ? {} : { after: before }) }
  try {
    const { steps } = await api('GET /v1/instances/:id/steps', { params: { id }, query, ...(signal && { signal }) })
    const [step] = steps
    return step?.name === key ? step : null
  } catch (error) {
    if (error instanceof AnswerError) return null
    throw error
  }
}
