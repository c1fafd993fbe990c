/** In place of a list without entries: what would be here, and the command that creates the first. */
import { CopyButton } from './copy.tsx'

export function Empty({ what, command }: { readonly what: string; readonly command?: string }) {
  return (
    <div class="empty">
      <p>{what}</p>
      {command !== undefined && (
        <p>
          <code>{command}</code> <CopyButton text={command} label="copy" />
        </p>
      )}
    </div>
  )
}
