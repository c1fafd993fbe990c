/** Makes a link by which one person decides a gate, and shows it. */
import { useSignal } from '@preact/signals'
import { api } from '../../api/client.ts'
import { ActionDialog, quoted } from '../../ui/actions.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Moment } from '../../ui/moments.tsx'
import { InputError } from '../../ui/problem.tsx'

const HOUR = 3600
const PERIODS = [
  [String(HOUR), '1 hour', '1h'],
  [String(24 * HOUR), '1 day', '1d'],
  [String(7 * 24 * HOUR), '7 days', '7d'],
  [String(30 * 24 * HOUR), '30 days', '30d'],
] as const

export function LinkDialog({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const made = useSignal<{ readonly path: string; readonly expires_at: string; readonly subject: string } | null>(null)
  if (made.value === null) {
    return (
      <AskForLink
        id={id}
        onClose={() => made.value === null && onClose()}
        onMade={(link) => {
          made.value = link
        }}
      />
    )
  }
  const { path, subject, expires_at: expiresAt } = made.value
  const url = `${window.location.origin}${path}`
  return (
    <Dialog title="The link" onClose={onClose}>
      <p>
        Whoever opens it can vote as <bdi>{subject}</bdi>, once, until <Moment at={expiresAt} />. Send it as you would
        send a password.
      </p>
      <p>
        <code>{url}</code>
      </p>
      <CopyButton text={url} label="copy the link" />
    </Dialog>
  )
}

function AskForLink(props: {
  readonly id: string
  readonly onClose: () => void
  readonly onMade: (link: { readonly path: string; readonly expires_at: string; readonly subject: string }) => void
}) {
  const { id, onClose, onMade } = props
  const subject = useSignal('')
  const roles = useSignal('')
  const period = useSignal<string>(PERIODS[2][0])
  const names = roles.value.split(/[\s,]+/).filter((role) => role !== '')
  const body = {
    subject: subject.value.trim(),
    expires_in_seconds: Number(period.value),
    ...(names.length === 0 ? {} : { roles: names }),
  }
  const confirm = async (): Promise<undefined> => {
    if (body.subject === '') throw new InputError('The link needs the name of the person who decides with it.')
    const link = await api('POST /v1/gates/:id/links', { params: { id }, body })
    onMade({ path: link.path, expires_at: link.expires_at, subject: body.subject })
    return undefined
  }
  const span = PERIODS.find(([seconds]) => seconds === period.value)?.[2] ?? '7d'
  const role = names.length === 0 ? '' : ` --role ${names.map(quoted).join(' ')}`
  return (
    <ActionDialog
      title="Create a signed link"
      verb="Create the link"
      command={`petrel link ${id} --subject ${quoted(body.subject || 'NAME')}${role} --expires ${span}`}
      request={{ method: 'POST', path: `/v1/gates/${id}/links`, body }}
      onClose={onClose}
      onConfirm={confirm}
    >
      <p class="dim">One person decides this gate with it, once, without a key.</p>
      <label>
        Person
        <input
          value={subject.value}
          autocomplete="off"
          onInput={(event) => {
            subject.value = event.currentTarget.value
          }}
        />
      </label>
      <label>
        Roles <span class="dim">optional, separated by commas</span>
        <input
          value={roles.value}
          autocomplete="off"
          onInput={(event) => {
            roles.value = event.currentTarget.value
          }}
        />
      </label>
      <label>
        Valid for
        <select
          value={period.value}
          onChange={(event) => {
            period.value = event.currentTarget.value
          }}
        >
          {PERIODS.map(([seconds, text]) => (
            <option key={seconds} value={seconds}>
              {text}
            </option>
          ))}
        </select>
      </label>
    </ActionDialog>
  )
}
