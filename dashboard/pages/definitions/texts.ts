/** Sends the text of a definition: to check it, or to deploy it. */
import type { Answer } from '../../api/answer.ts'
import { AnswerError, answerOf } from '../../api/client.ts'
import { type LineProblem, problemsOf } from './problems.ts'

export type Checked = Answer<'POST /v1/definitions/check'>
export type Deployed = Answer<'POST /v1/definitions'>

export async function checkText(text: string, file: string, signal?: AbortSignal): Promise<Checked> {
  return (await send(`/v1/definitions/check?${new URLSearchParams({ file })}`, text, signal)) as Checked
}

export async function deployText(text: string, file: string, tags: readonly string[]): Promise<Deployed> {
  const query = new URLSearchParams({ file })
  for (const tag of tags) query.append('tag', tag)
  return (await send(`/v1/definitions?${query}`, text)) as Deployed
}

async function send(path: string, body: string, signal?: AbortSignal): Promise<unknown> {
  const headers = { 'content-type': 'application/yaml' }
  const response = await answerOf(path, { method: 'POST', headers, body, ...(signal === undefined ? {} : { signal }) })
  return response.json()
}

export function problemsOfCheck({ problems, warnings }: Checked): readonly LineProblem[] {
  return [...problemsOf(problems, false), ...problemsOf(warnings, true)]
}

/** Of a deploy that was refused: all mistakes with their lines. */
export function mistakesOf(error: unknown): readonly LineProblem[] {
  if (!(error instanceof AnswerError) || error.code !== 'invalid_definition') return []
  return problemsOf((error.details['problems'] ?? []) as Parameters<typeof problemsOf>[0], false)
}
