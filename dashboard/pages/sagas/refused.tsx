/** Messages on NATS that were refused: unknown or mismatched ids, invalid JSON, duplicates. */
import { useSignal } from '@preact/signals'
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { useGrowing } from '../../api/growing.ts'
import { refusal, session } from '../../api/session.ts'
import { href, param, setQuery } from '../../browser/router.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'

type Message = Answer<'GET /v1/refused-messages'>['messages'][number]

export function RefusedMessages() {
  const tenant = session.value?.tenant ?? null
  const refused =
    refusal('admin') ?? (tenant === null ? null : `concerns all tenants; your key belongs to the tenant ${tenant}`)
  if (refused !== null) {
    return <Empty what={`Refused messages cannot be shown: ${refused}.`} command="petrel saga refused" />
  }
  return <List />
}

function List() {
  const held = useSignal(false)
  const { live, more } = useGrowing<Message, number>(
    'refused',
    async (before, signal) => {
      const query = { limit: 100, ...(before === null ? {} : { before }) }
      const { messages, next_before: next } = await api('GET /v1/refused-messages', { query, signal })
      return { rows: messages, next }
    },
    { hold: held, everyMs: 10_000 },
  )
  if (live.error.value !== null) return <Problem error={live.error.value} />
  if (live.data.value === null) return <p class="dim">Loading …</p>
  const opened = live.data.value.rows.find(({ id }) => String(id) === param('message'))
  return (
    <>
      <p class="dim">The last 10,000 messages that changed nothing, newest first.</p>
      <Rows
        label="Refused messages"
        rows={live.data.value.rows}
        columns={COLUMNS}
        keyOf={({ id }) => String(id)}
        hrefOf={({ id }) => href('/sagas', { tab: 'refused', message: id })}
        held={held}
        onEnd={more}
        empty={<Empty what="No message has been refused." command="petrel saga refused" />}
      />
      {opened !== undefined && <MessageDialog message={opened} onClose={() => setQuery({ message: null })} />}
    </>
  )
}

const COLUMNS: readonly Column<Message>[] = [
  { key: 'at', title: 'When', width: '7rem', cell: ({ at }) => <Moment at={at} /> },
  {
    key: 'code',
    title: 'Reason',
    width: 'minmax(6rem, 1fr)',
    cell: ({ code, message }) => <bdi title={message}>{code}</bdi>,
  },
  {
    key: 'subject',
    title: 'Subject',
    width: 'minmax(6rem, 2fr)',
    cell: ({ subject }) => <bdi title={subject}>{subject}</bdi>,
  },
  {
    key: 'message',
    title: 'What is wrong',
    width: 'minmax(6rem, 3fr)',
    optional: true,
    cell: ({ message }) => <bdi title={message}>{message}</bdi>,
  },
]

const ID = /^[0-9a-f-]{36}$/i

function MessageDialog({ message, onClose }: { readonly message: Message; readonly onClose: () => void }) {
  const { at, subject, code, message: text, workflow_instance_id: instance, step_id: step, body } = message
  return (
    <Dialog title="Refused message" wide onClose={onClose}>
      <dl class="facts">
        <dt>When</dt>
        <dd>
          <Moment at={at} />
        </dd>
        <dt>Subject</dt>
        <dd>
          <bdi>{subject}</bdi>
        </dd>
        <dt>Reason</dt>
        <dd>
          <code>{code}</code> <bdi>{text}</bdi>
        </dd>
        <dt>Saga</dt>
        <dd>
          {instance === null ? (
            '–'
          ) : ID.test(instance) ? (
            <a href={href(`/sagas/${instance}`)}>{instance}</a>
          ) : (
            <bdi>{instance}</bdi>
          )}
        </dd>
        <dt>Step id</dt>
        <dd>{step === null ? '–' : <bdi>{step}</bdi>}</dd>
      </dl>
      <div class="row end">
        <CopyButton text={body} label="copy the body" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard */}
      <pre tabIndex={0}>{body}</pre>
    </Dialog>
  )
}
