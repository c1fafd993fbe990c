/** Copies a text: an id, a command. */
import { toast } from './toast.tsx'

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      toast({ kind: 'done', text: `Copied: ${text.length > 80 ? `${text.slice(0, 80)}…` : text}` })
    } catch {
      toast({ kind: 'error', text: 'The browser does not permit copying; select the text instead.' })
    }
  }
  return (
    <button type="button" class="small plain copy" title={`Copy ${text.slice(0, 500)}`} onClick={() => void copy()}>
      ⧉ {label}
    </button>
  )
}
