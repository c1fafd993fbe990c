/** A secret that is shown once. */
import { CopyButton } from './copy.tsx'
import { Dialog } from './dialog.tsx'

export function SecretDialog(props: {
  readonly title: string
  readonly what: string
  readonly secret: string
  readonly onClose: () => void
}) {
  const { title, what, secret, onClose } = props
  return (
    <Dialog title={title} onClose={onClose}>
      <p>{what}</p>
      <p>
        <code>{secret}</code>
      </p>
      <div class="row end">
        <CopyButton text={secret} label="copy" isSecret />
        <button type="button" class="primary" onClick={onClose}>
          I have stored it
        </button>
      </div>
    </Dialog>
  )
}
