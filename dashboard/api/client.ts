/** The API of the server, typed by the descriptions of its routes. */
import { AnswerError, clientOf } from '../../src/http/describe/client.ts'
import type { DESCRIBED_ROUTES } from '../../src/server/routes.ts'
import { reached, unreachable } from './connection.ts'

export { AnswerError }

/** Notices whether the server can be reached, whatever it answers. */
const watchedFetch: typeof fetch = async (input, init) => {
  try {
    const response = await fetch(input, init)
    reached()
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
  const response = await answerOf(path, signal === undefined ? {} : { signal })
  return response.text()
}

/** An answer whose body has not been read; any that is not a success is an AnswerError. */
export async function answerOf(path: string, init: RequestInit): Promise<Response> {
  const response = await watchedFetch(path, init)
  if (response.ok) return response
  let error: Partial<AnswerError> = {}
  try {
    error = (JSON.parse(await response.text()) as { readonly error?: Partial<AnswerError> }).error ?? {}
  } catch {
    // Not from Petrel: a proxy, for example.
  }
  throw new AnswerError(response.status, error)
}
