/** The API of the server, typed by the descriptions of its routes. */
import { AnswerError, clientOf } from '../../src/http/describe/client.ts'
import type { DESCRIBED_ROUTES } from '../../src/server/routes.ts'
import { reached, refused, unreachable } from './connection.ts'

export { AnswerError }

/** Notices whether the server can be reached, whatever it answers. */
const watchedFetch: typeof fetch = async (input, init) => {
  try {
    const response = await fetch(input, init)
    reached()
    if (response.status === 401) refused()
    return response
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'AbortError')) unreachable()
    throw error
  }
}

/** `await api('GET /v1/instances/:id', { params: { id } })`: the body of a success; any other answer is an AnswerError. */
export const api = clientOf<typeof DESCRIBED_ROUTES>('', { fetch: watchedFetch })

/** The answer as the server wrote it, for data that is shown digit by digit. */
export async function rawText(path: string, signal?: AbortSignal): Promise<string> {
  const response = await watchedFetch(path, signal === undefined ? {} : { signal })
  const text = await response.text()
  if (response.ok) return text
  let error: Partial<AnswerError> = {}
  try {
    error = (JSON.parse(text) as { readonly error?: Partial<AnswerError> }).error ?? {}
  } catch {
    // Not from Petrel: a proxy, for example.
  }
  throw new AnswerError(response.status, error)
}
