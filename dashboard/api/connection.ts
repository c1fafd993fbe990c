/** Whether the server can be reached. While it cannot, pages keep their last data and a banner says so. */
import { signal } from '@preact/signals'

export interface Outage {
  readonly since: number
  readonly nextTryAt: number
}

/** null: it can be reached. */
export const outage = signal<Outage | null>(null)

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setTimeout> | null = null
let wait = FIRST_WAIT_MS

/** Called when the server can be reached again. */
export function onReturn(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export function reached(): void {
  if (outage.value === null) return
  outage.value = null
  wait = FIRST_WAIT_MS
  if (timer !== null) clearTimeout(timer)
  timer = null
  for (const listener of listeners) listener()
}

export function unreachable(): void {
  const now = Date.now()
  if (timer !== null) return
  outage.value = { since: outage.value?.since ?? now, nextTryAt: now + wait }
  timer = setTimeout(() => {
    timer = null
    void tryAgain()
  }, wait)
  wait = Math.min(wait * 2, LONGEST_WAIT_MS)
}

export async function tryAgain(): Promise<void> {
  try {
    await fetch('/health', { cache: 'no-store' })
    reached()
  } catch {
    unreachable()
  }
}

const refusals = new Set<() => void>()

/** Called when the server no longer knows the user: the sign-in has ended. */
export function onRefusal(listener: () => void): () => void {
  refusals.add(listener)
  return () => refusals.delete(listener)
}

export function refused(): void {
  for (const listener of refusals) listener()
}
