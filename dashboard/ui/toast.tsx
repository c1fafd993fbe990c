/** Short messages about what has been done. Screen readers announce them. */
import { signal } from '@preact/signals'

export interface Toast {
  readonly kind: 'done' | 'error'
  readonly text: string
}

const SHOWN_MS = 6_000
const shown = signal<readonly (Toast & { readonly id: number })[]>([])
let last = 0

export function toast(message: Toast): void {
  const id = ++last
  shown.value = [...shown.value.slice(-3), { ...message, id }]
  setTimeout(() => dismiss(id), message.kind === 'error' ? SHOWN_MS * 2 : SHOWN_MS)
}

function dismiss(id: number): void {
  shown.value = shown.value.filter((one) => one.id !== id)
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {shown.value.map(({ id, kind, text }) => (
        <div key={id} class={`toast ${kind}`}>
          <span aria-hidden="true">{kind === 'done' ? '✓' : '!'}</span> <span class="grow">{text}</span>
          <button type="button" class="plain" aria-label="Dismiss" onClick={() => dismiss(id)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  )
}
