/** An error of the server: what is wrong, where, and what would be right. */
import { AnswerError } from '../api/client.ts'

interface FieldMistake {
  readonly path?: string
  readonly message?: string
}

/** What is wrong with the input, found before anything was sent. */
export class InputError extends Error {
  override readonly name = 'InputError'
}

export function Problem({ error }: { readonly error: Error }) {
  if (error instanceof InputError) {
    return (
      <div class="problem" role="alert">
        <strong>{error.message}</strong>
      </div>
    )
  }
  if (!(error instanceof AnswerError)) {
    return (
      <div class="problem" role="alert">
        The server could not be reached.
      </div>
    )
  }
  const { hint, details, code, message } = error
  const mistakes = (details['validation_errors'] ?? []) as readonly FieldMistake[]
  return (
    <div class="problem" role="alert">
      <strong>{message}</strong>
      {mistakes.length > 0 && (
        <ul>
          {mistakes.map(({ path, message: text }, i) => (
            <li key={i}>
              {path !== undefined && <code>{path}</code>} {text}
            </li>
          ))}
        </ul>
      )}
      {hint !== '' && <p>{hint}</p>}
      <p class="dim">
        <a href={`/docs/errors#${code}`} target="_blank" rel="noreferrer">
          {code === '' ? `HTTP ${error.status}` : code}
        </a>
      </p>
    </div>
  )
}
