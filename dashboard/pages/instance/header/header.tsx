/** What an instance is, how far it is, and why it is not further. */
import type { ComponentChildren } from 'preact'
import { href } from '../../../browser/router.ts'
import { CopyButton } from '../../../ui/copy.tsx'
import { Term } from '../../../ui/explain.tsx'
import { Moment, Took } from '../../../ui/moments.tsx'
import { State } from '../../../ui/state.tsx'
import { ENDED, failureOf, type Instance, type Shown } from '../model.ts'
import { Reasons, Waits } from '../steps/reasons.tsx'
import { FailureNote } from './failure.tsx'
import { Lineage } from './lineage.tsx'

/** Steps whose reasons are shown before anything else. */
const MOST_WAITS = 3

export function Header({ shown, live }: { readonly shown: Shown; readonly live: boolean }) {
  const { view, why } = shown
  const { instance } = view
  const waitsFor = why.about.filter(({ kind }) => kind !== 'ended')
  const now = why.waits.filter(({ reasons }) => reasons.some(({ kind }) => kind !== 'dependency'))
  return (
    <div class="stack instance-head">
      <header>
        <h1>
          <bdi class="long-name" title={instance.name.slice(0, 2000)}>
            {instance.name}
          </bdi>{' '}
          <State state={instance.state} /> {instance.paused && <State state="paused" />}
        </h1>
        <p class="row">
          <code>{instance.id}</code> <CopyButton text={instance.id} label="copy" />
          {instance.outcome !== null && (
            <span>
              outcome <strong>{instance.outcome}</strong>
            </span>
          )}
          {!live && <span class="dim">updates are paused</span>}
        </p>
      </header>
      {waitsFor.length + now.length > 0 && (
        <section class="card waiting-note" aria-label="What it waits for">
          {waitsFor.length > 0 && <Reasons reasons={waitsFor} id={instance.id} />}
          <Waits waits={now.slice(0, MOST_WAITS)} id={instance.id} />
          {now.length > MOST_WAITS && (
            <p class="dim">
              and {why.next_after === null ? now.length - MOST_WAITS : 'many'} more: each step shows why it is not done
            </p>
          )}
        </section>
      )}
      <FailureNote failure={failureOf(view.error)} title="It failed" name={instance.name} />
      <FailureNote failure={failureOf(view.undo_error)} title="Its undo failed" name={instance.name} />
      <Facts shown={shown} />
      <Lineage instance={instance} />
    </div>
  )
}

function Facts({ shown: { view } }: { readonly shown: Shown }) {
  const { instance, initiator, tags, gates } = view
  const meta = view.meta as { readonly definition?: { readonly name?: unknown; readonly version?: unknown } } | null
  const version = typeof meta?.definition?.version === 'string' ? meta.definition.version : null
  return (
    <dl class="facts instance-facts">
      <Progress instance={instance} />
      <Fact title={<Term name="definition" />}>
        <a href={href(`/definitions/${encodeURIComponent(instance.name)}`)}>
          <bdi class="long-name">{instance.name}</bdi>
        </a>{' '}
        {version !== null && <bdi>{version}</bdi>} <span class="dim">{instance.dialect}</span>
      </Fact>
      <Fact title="time">
        created <Moment at={instance.created_at} />
        {instance.started_at !== null && (
          <>
            , {ENDED.has(instance.state) ? 'took' : 'running for'}{' '}
            <Took from={instance.started_at} to={instance.ended_at} />
          </>
        )}
        {instance.ended_at !== null && (
          <>
            , ended <Moment at={instance.ended_at} />
          </>
        )}
      </Fact>
      {instance.deadline_at !== null && !ENDED.has(instance.state) && (
        <Fact title={<Term name="deadline" />}>
          <Moment at={instance.deadline_at} />
        </Fact>
      )}
      <Fact title="initiator">{initiator === null ? <span class="dim">not known</span> : <bdi>{initiator}</bdi>}</Fact>
      {instance.tenant !== null && (
        <Fact title="tenant">
          <bdi>{instance.tenant}</bdi>
        </Fact>
      )}
      {instance.start_key !== null && (
        <Fact title="start key">
          <bdi class="long-name">{instance.start_key}</bdi>
        </Fact>
      )}
      {tags.length > 0 && (
        <Fact title="tags">
          {tags.map((tag) => (
            <a key={tag} class="tag" href={href('/instances', { q: `tag:${quotedTerm(tag)}` })}>
              <bdi>{tag}</bdi>
            </a>
          ))}
        </Fact>
      )}
      {instance.parent_id !== null && <Family instance={instance} />}
      {gates.length > 0 && (
        <Fact title={<Term name="gate" label="gates" />}>
          <a href={href('/gates', { view: 'all' })}>
            {gates.length === 1 ? '1 gate waits' : `${gates.length} gates wait`} for people
          </a>
        </Fact>
      )}
    </dl>
  )
}

function Fact({ title, children }: { readonly title: ComponentChildren; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  )
}

/** Counts of runs; each leads to them. */
function Progress({ instance }: { readonly instance: Instance }) {
  const { id, succeeded, failed, open, held_tokens: held } = instance
  const runs = (status: string): string => href('/runs', { q: `instance:${id} ${status}` })
  return (
    <Fact title="progress">
      <a href={runs('status:succeeded')}>
        <span aria-hidden="true">✓</span> {succeeded} succeeded
      </a>
      {' · '}
      <a href={runs('status:failed')} class={failed > 0 ? 'bad-text' : ''}>
        <span aria-hidden="true">✕</span> {failed} failed
      </a>
      {' · '}
      <a href={runs('status:pending,leased')}>
        <span aria-hidden="true">▶</span> {open} open
      </a>
      {held > 0 && (
        <>
          {' · '}
          {held} <Term name="held token" label={held === 1 ? 'held token' : 'held tokens'} />
        </>
      )}
    </Fact>
  )
}

function Family({ instance }: { readonly instance: Instance }) {
  const { parent_id: parent, parent_node: node, root_id: root } = instance
  return (
    <Fact title="nested in">
      <a href={href(`/instances/${parent}`)}>
        <code>{parent}</code>
      </a>
      {node !== null && (
        <>
          , step <bdi>{node}</bdi>
        </>
      )}
      {root !== parent && (
        <>
          ; root{' '}
          <a href={href(`/instances/${root}`)}>
            <code>{root}</code>
          </a>
        </>
      )}
    </Fact>
  )
}

/** As the query language has it. */
export function quotedTerm(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
