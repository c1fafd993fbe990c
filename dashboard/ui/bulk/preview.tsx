/** What a bulk operation would change: how many, the newest five, and what would be refused. */
import type { Action, Target } from '../../../src/model/bulk/rows.ts'
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { href } from '../../browser/router.ts'
import { Moment } from '../moments.tsx'
import { State } from '../state.tsx'

export type Preview = Extract<Answer<'POST /v1/operations'>, { readonly preview: unknown }>['preview']

export async function previewOf(
  asked: { readonly target: Target; readonly q: string; readonly action: Action },
  signal: AbortSignal,
): Promise<Preview> {
  const reply = await api('POST /v1/operations', { body: { ...asked, dry_run: true }, signal })
  return (reply as { readonly preview: Preview }).preview
}

/** An instance or a run of a preview. */
interface Example {
  readonly id: string
  readonly name?: string
  readonly type?: string
  readonly state?: string
  readonly status?: string
  readonly created_at?: string
}

export function PreviewText({ preview, target }: { readonly preview: Preview | null; readonly target: Target }) {
  if (preview === null) return <p class="dim preview">Looking at what would be changed …</p>
  const { count, count_is_at_least: more, refusals, examined } = preview
  const examples = preview.examples as readonly Example[]
  return (
    <section class="preview" aria-live="polite">
      <p>
        <strong>
          {more && 'more than '}
          {count.toLocaleString('en')} {count === 1 && !more ? target.slice(0, -1) : target}
        </strong>
        {count > examples.length && examples.length > 0 && <>, the newest of them:</>}
      </p>
      <ul class="examples">
        {examples.map(({ id, name, type, state, status, created_at: created }) => (
          <li key={id}>
            <State state={state ?? status ?? ''} />{' '}
            <a href={href(`/${target}/${id}`)} title={name ?? type ?? id}>
              <bdi>{name ?? type ?? id}</bdi>
            </a>{' '}
            <span class="dim">
              <Moment at={created ?? null} />
            </span>
          </li>
        ))}
      </ul>
      {refusals.length > 0 && (
        <p>
          Of {examined.toLocaleString('en')} examined would be refused:{' '}
          {refusals.map(({ reason, count: refused }) => `${refused.toLocaleString('en')} (${reason})`).join(', ')}.
        </p>
      )}
    </section>
  )
}
