/** One gate: what it is about, who has voted and who may, and the vote. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { session } from '../../api/session.ts'
import { href } from '../../browser/router.ts'
import { type Action, ActionButton, usePageActions } from '../../ui/actions.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Term } from '../../ui/explain.tsx'
import { JsonValue } from '../../ui/json/json.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { State } from '../../ui/state.tsx'
import { votingActions } from './gates.tsx'
import { LinkDialog } from './link-dialog.tsx'
import { Seats } from './seats.tsx'
import { type Decision, Vote } from './vote-dialog.tsx'
import { type GateDetail, stagesOf, whyNoVote } from './voting.ts'

async function readGate(id: string, signal: AbortSignal) {
  const { gate } = await api('GET /v1/gates/:id', { params: { id }, signal })
  // Its history may have been deleted, or belong to nobody who may see it.
  const subject = await api('GET /v1/instances/:id', {
    params: { id: gate.instance_id },
    query: { limit: 1 },
    signal,
  }).catch(() => null)
  return { gate, subject }
}
type Subject = Awaited<ReturnType<typeof readGate>>['subject']

export default function GatePage({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const id = params['id'] ?? ''
  const { data, error, refresh } = useLive(id, (signal) => readGate(id, signal))
  if (error.value !== null && data.value === null) {
    return (
      <>
        <h1>Gate</h1>
        <Problem error={error.value} />
      </>
    )
  }
  if (data.value === null) return <p class="dim">Loading …</p>
  return <GateView {...data.value} refresh={() => void refresh()} />
}

type Asking = Decision | 'link' | null

function GateView(props: { readonly gate: GateDetail; readonly subject: Subject; readonly refresh: () => void }) {
  const { gate, subject, refresh } = props
  const asking = useSignal<Asking>(null)
  const voter = { subject: session.value?.subject ?? null, roles: session.value?.roles ?? [] }
  const close = (): void => {
    asking.value = null
  }
  const actions = useMemo(() => {
    const excluded = voter.subject !== null && gate.standing.excluded.includes(voter.subject)
    return [
      ...votingActions(gate, voter, (decision) => {
        asking.value = decision
      }).map((action) =>
        excluded ? { ...action, unavailable: 'you started this workflow, and may not decide its gate' } : action,
      ),
      linkAction(gate, () => {
        asking.value = 'link'
      }),
    ]
  }, [gate, session.value])
  usePageActions(actions, [actions])
  const refused = whyNoVote(gate, voter)
  return (
    <>
      <p class="dim">
        <a href={href('/gates')}>Gates</a>
      </p>
      <h1>
        <bdi>{gate.title ?? gate.node}</bdi> <State state={gate.state} />
      </h1>
      {gate.description !== null && (
        <p>
          <bdi>{gate.description}</bdi>
        </p>
      )}
      <div class="row">
        {actions.map((action) => (
          <ActionButton key={action.id} action={action} />
        ))}
        {gate.state === 'open' && refused !== null && <span class="dim">{refused}</span>}
      </div>
      <div class="gate-parts">
        <Facts gate={gate} />
        <Standing gate={gate} />
      </div>
      <About gate={gate} subject={subject} />
      {(asking.value === 'approve' || asking.value === 'reject') && (
        <Vote gate={gate} decision={asking.value} onClose={close} onDone={refresh} />
      )}
      {asking.value === 'link' && <LinkDialog id={gate.id} onClose={close} />}
    </>
  )
}

function linkAction({ id, state }: GateDetail, ask: () => void): Action {
  return {
    id: 'link',
    label: 'Create a link …',
    hint: 'by which one person decides without a key',
    scope: 'admin',
    unavailable: state === 'open' ? null : `the gate is already ${state}`,
    command: `petrel link ${id} --subject NAME`,
    request: { method: 'POST', path: `/v1/gates/${id}/links`, body: { subject: 'NAME' } },
    run: () => {
      ask()
      return undefined
    },
  }
}

function Facts({ gate }: { readonly gate: GateDetail }) {
  const { instance, due_at: due, on_timeout: then, standing } = gate
  return (
    <section class="card">
      <h2>About</h2>
      <dl class="facts">
        <dt>Workflow</dt>
        <dd>
          <a href={href(`/instances/${instance.id}`)}>
            <bdi>{instance.name}</bdi>
          </a>{' '}
          <State state={instance.state} />
        </dd>
        <dt>Step</dt>
        <dd>
          <bdi>{gate.node}</bdi>
        </dd>
        <dt>Opened</dt>
        <dd>
          <Moment at={gate.created_at} />
        </dd>
        <dt>Due</dt>
        <dd>
          {due === null ? (
            'no deadline'
          ) : (
            <>
              <Moment at={due} />; without a decision it is {then === 'approve' ? 'approved' : 'rejected'} then
            </>
          )}
        </dd>
        {standing.excluded.length > 0 && (
          <>
            <dt>May not vote</dt>
            <dd>
              <bdi>{standing.excluded.join(', ')}</bdi>, who started it
            </dd>
          </>
        )}
        <dt>Id</dt>
        <dd>
          <code>{gate.id}</code> <CopyButton text={gate.id} label="copy" />
        </dd>
      </dl>
    </section>
  )
}

function Standing({ gate }: { readonly gate: GateDetail }) {
  const { standing, answered_by: by, answered_at: at, reason, state } = gate
  const stages = stagesOf(gate)
  return (
    <section class="card">
      <h2>
        Votes: {standing.approvals} of {standing.quorum} approvals <Term name="quorum" label="?" />
      </h2>
      {state !== 'open' && (
        <p>
          <State state={state} /> {by === null ? 'by the clock' : <bdi>{by}</bdi>}, <Moment at={at} />
          {reason !== null && (
            <>
              : <bdi>{reason}</bdi>
            </>
          )}
        </p>
      )}
      <Seats gate={gate} />
      {stages.length > 0 && (
        <>
          <h2>Escalation</h2>
          <ol class="stages">
            {stages.map(({ number, at: begins, roles, hasBegun }) => (
              <li key={number}>
                {hasBegun ? '✓ began' : '○ begins'} <Moment at={begins} />:{' '}
                {roles.length === 0 ? 'a reminder' : <bdi>{roles.join(', ')} may vote too</bdi>}
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  )
}

function About({ gate, subject }: { readonly gate: GateDetail; readonly subject: Subject }) {
  const parts: readonly (readonly [string, unknown])[] = [
    ['What is to be decided', gate.args],
    ['Answer', gate.answer],
    ['Input of the workflow', subject?.input ?? null],
    ['Results so far', subject === null || Object.keys(subject.results).length === 0 ? null : subject.results],
  ]
  const shown = parts.filter(([, value]) => value !== null && value !== undefined)
  return (
    <div class="gate-about">
      {shown.map(([title, value]) => (
        <section key={title}>
          <h2>{title}</h2>
          <JsonValue value={value} label={title} />
        </section>
      ))}
      {gate.form !== null && gate.state === 'open' && (
        <details>
          <summary>The form of an approval</summary>
          <JsonValue value={gate.form} label="JSON Schema of the answer" />
        </details>
      )}
    </div>
  )
}
