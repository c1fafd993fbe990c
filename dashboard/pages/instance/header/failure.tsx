/** Why an instance failed, and where failures with the same cause are. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { api } from '../../../api/client.ts'
import { href, setQuery } from '../../../browser/router.ts'
import { Term } from '../../../ui/explain.tsx'
import type { Failure } from '../model.ts'
import { groupOf } from './find-group.ts'

export function FailureNote(props: {
  readonly failure: Failure | null
  readonly title: string
  /** Of the workflow. */
  readonly name: string
}) {
  const { failure, title, name } = props
  if (failure === null) return null
  const { code, message, node, category, hint } = failure
  return (
    <section class="problem failure" aria-label={title}>
      <p>
        <strong>
          {title}
          {node !== null && (
            <>
              {' '}
              at <StepLink node={node} />
            </>
          )}
          :
        </strong>{' '}
        <bdi class="long-message">{message}</bdi>
      </p>
      {hint !== null && (
        <p>
          <bdi>{hint}</bdi>
        </p>
      )}
      <p>
        {code !== null && (
          <>
            code <code>{code.slice(0, 200)}</code>
          </>
        )}
        {category !== null && (
          <>
            , category <bdi>{category}</bdi>
          </>
        )}{' '}
        · <GroupLink failure={failure} name={name} />
      </p>
    </section>
  )
}

function StepLink({ node }: { readonly node: string }) {
  return (
    <button type="button" class="link" onClick={() => setQuery({ tab: 'steps', step: node })}>
      <bdi class="long-name">{node}</bdi>
    </button>
  )
}

const CANDIDATES = 100

function GroupLink({ failure, name }: { readonly failure: Failure; readonly name: string }) {
  const group = useSignal<string | null>(null)
  const { code, node, message } = failure
  useEffect(() => {
    const controller = new AbortController()
    const wanted = (code ?? name).slice(0, 200)
    api('GET /v1/error-groups', { query: { q: wanted, limit: CANDIDATES }, signal: controller.signal }).then(
      ({ groups }) => {
        group.value = groupOf(groups, { code, node, message })
      },
      // The list is linked instead.
      () => {},
    )
    return () => controller.abort()
  }, [code, node, message])
  const to = group.value === null ? href('/errors', { q: code ?? '' }) : href(`/errors/${group.value}`)
  return (
    <>
      <a href={to}>{group.value === null ? 'failures like this' : 'all failures with this cause'}</a> (
      <Term name="error group" />)
    </>
  )
}
