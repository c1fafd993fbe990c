/** Copies a text: an id, a command. */
import { toast } from './toast.tsx'

export function CopyButton(props: {
  readonly text: string
  readonly label: string
  /** The text is not shown anywhere else. */
  readonly isSecret?: boolean
}) {
  const { text, label, isSecret = false } = props
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      toast({
        kind: 'done',
        text: isSecret ? 'Copied.' : `Copied: ${text.length > 80 ? `${text.slice(0, 80)}…` : text}`,
      })
    } catch {
      toast({ kind: 'error', text: 'The browser does not permit copying; select the text instead.' })
    }
  }
  return (
    <button
      type="button"
      class="small plain copy"
      title={isSecret ? 'Copy' : `Copy ${text.slice(0, 500)}`}
      onClick={() => void copy()}
    >
      {label}
    </button>
  )
}
