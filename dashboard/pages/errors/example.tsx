/** The last run of a group that failed: its error, and the input it failed with. */
import type { Answer } from '../../api/answer.ts'
import { href } from '../../browser/router.ts'
import { JsonValue } from '../../ui/json/json.tsx'
import { Moment } from '../../ui/moments.tsx'
import { State } from '../../ui/state.tsx'
import type { ErrorGroup } from './parts.tsx'

type Run = NonNullable<Answer<'GET /v1/error-groups/:fingerprint'>['example']>

/** Where a look at the failure begins: the instance with the failed step selected, or the run. */
export function exampleHref({ last_instance_id: instance, last_run_id: run, node }: ErrorGroup): string {
  return instance === null ? href(`/runs/${run}`) : href(`/instances/${instance}`, { step: node })
}

export function Example({ group, run }: { readonly group: ErrorGroup; readonly run: Run | null }) {
  return (
    <section class="card example">
      <div class="row">
        <h2 class="grow">The last failure</h2>
        <a class="button" href={exampleHref(group)}>
          {group.last_instance_id === null ? 'Open the run' : 'Open the instance at the failed step'}
        </a>
      </div>
      {run === null ? (
        <p class="dim">The run has been removed.</p>
      ) : (
        <>
          <p>
            <State state={run.status} /> <Moment at={group.last_seen} />
            {run.leased_by !== null && (
              <>
                {' '}
                on <bdi>{run.leased_by}</bdi>
              </>
            )}
            , attempt {run.attempt} of {run.max_attempts} · <a href={href(`/runs/${run.id}`)}>run</a>
          </p>
          <ErrorText error={run.error} message={run.last_error} />
          <h3>Input</h3>
          <JsonValue value={run.payload} name={`${run.id}-input.json`} label="Input" />
        </>
      )}
    </section>
  )
}

interface Reported {
  readonly code?: unknown
  readonly message?: unknown
  readonly details?: { readonly stack?: unknown }
}

/** The message first; the stack and what else was reported on request. */
function ErrorText({ error, message }: { readonly error: unknown; readonly message: string | null }) {
  const reported = (typeof error === 'object' && error !== null ? error : {}) as Reported
  const stack = reported.details?.stack
  return (
    <>
      <h3>Error</h3>
      <p class="error-text">
        {typeof reported.code === 'string' && <code>{reported.code}</code>}{' '}
        <bdi>{typeof reported.message === 'string' ? reported.message : (message ?? 'no message')}</bdi>
      </p>
      {typeof stack === 'string' && (
        <details>
          <summary>Stack</summary>
          <pre>{stack}</pre>
        </details>
      )}
      {error !== null && (
        <details>
          <summary>As it was reported</summary>
          <JsonValue value={error} label="Error" />
        </details>
      )}
    </>
  )
}
