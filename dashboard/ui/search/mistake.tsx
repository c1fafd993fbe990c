/** What is wrong in a query: the place in it, the reason, and what would be right. */
import { AnswerError } from '../../api/client.ts'
import { Problem } from '../problem.tsx'

interface Place {
  readonly offset: number
  readonly word: string
  readonly meant: string | null
}

/** null: the error is not about a place in the query. */
function placeOf({ details }: AnswerError): Place | null {
  const { offset, word, did_you_mean: meant } = details
  if (typeof offset !== 'number' || typeof word !== 'string') return null
  return { offset, word, meant: typeof meant === 'string' ? meant : null }
}

export function Mistake({
  error,
  query,
  onCorrect,
}: {
  readonly error: Error
  readonly query: string
  readonly onCorrect: (query: string) => void
}) {
  const place = error instanceof AnswerError ? placeOf(error) : null
  if (!(error instanceof AnswerError) || place === null) return <Problem error={error} />
  const { offset, word, meant } = place
  const end = offset + Math.max(1, word.length)
  return (
    <div class="mistake" role="alert">
      <p>{error.message}</p>
      <code class="mistake-query">
        {query.slice(0, offset)}
        <mark>{query.slice(offset, end) || '␣'}</mark>
        {query.slice(end)}
      </code>
      {error.hint !== '' && <p>{error.hint}</p>}
      {meant !== null && (
        <button
          type="button"
          class="small"
          onClick={() => onCorrect(query.slice(0, offset) + meant + query.slice(offset + word.length))}
        >
          Use {meant}
        </button>
      )}
    </div>
  )
}
