/**
 * The keyboard. A key acts on the page unless it is typed into a field or a dialog is open. `g` waits a second for
 * the letter of a page. Pages add their own keys with `useKeys`.
 */
import { useLayoutEffect } from 'preact/hooks'

export interface KeyBinding {
  /** As KeyboardEvent.key has it: `/`, `j`, `Enter`; `g i`: two after each other; `mod+k`: with ⌘ or Ctrl. */
  readonly keys: string
  /** For the help. */
  readonly what: string
  readonly run: (event: KeyboardEvent) => void
}

const bindings: KeyBinding[] = []
const PREFIX_MS = 1_000
let prefixAt = Number.NEGATIVE_INFINITY

/** While the component is mounted, from the moment it is shown; those added last come first. */
export function useKeys(added: readonly KeyBinding[], on: readonly unknown[] = []): void {
  useLayoutEffect(() => {
    bindings.unshift(...added)
    return () => {
      for (const binding of added) {
        const at = bindings.indexOf(binding)
        if (at >= 0) bindings.splice(at, 1)
      }
    }
  }, on as unknown[])
}

/** For the help: each key once. */
export function knownKeys(): readonly KeyBinding[] {
  const seen = new Set<string>()
  return bindings.filter(({ keys }) => !seen.has(keys) && seen.add(keys))
}

/** Where letters are typed. A checkbox takes none. */
function inField(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement) return target.type !== 'checkbox'
  return target instanceof HTMLElement && (target.isContentEditable || /^(?:TEXTAREA|SELECT)$/.test(target.tagName))
}

/** Enter and space on a control are the control's own. */
function onControl(event: KeyboardEvent): boolean {
  if (event.key !== 'Enter' && event.key !== ' ') return false
  return event.target instanceof HTMLElement && event.target.closest('a, button, summary, [role=tab]') !== null
}

window.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.isComposing) return
  const mod = event.metaKey || event.ctrlKey
  if (mod || event.altKey) {
    if (mod && !event.altKey) run(`mod+${event.key.toLowerCase()}`, event)
    return
  }
  if (inField(event.target) || onControl(event) || document.querySelector('dialog[open]') !== null) return
  const now = performance.now()
  if (now - prefixAt < PREFIX_MS) {
    prefixAt = Number.NEGATIVE_INFINITY
    if (run(`g ${event.key}`, event)) return
  }
  if (event.key === 'g') {
    prefixAt = now
    return
  }
  run(event.key, event)
})

function run(keys: string, event: KeyboardEvent): boolean {
  const binding = bindings.find((known) => known.keys === keys)
  if (binding === undefined) return false
  event.preventDefault()
  binding.run(event)
  return true
}
