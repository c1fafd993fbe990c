/** SIGINT and SIGTERM as an AbortSignal. The second one ends the process at once. */

export interface Interruption {
  readonly signal: AbortSignal
  /** Which signal came; null: none yet. */
  readonly by: NodeJS.Signals | null
  ignore(): void
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

export function interrupted(): Interruption {
  const controller = new AbortController()
  let by: NodeJS.Signals | null = null
  const listener = (signal: NodeJS.Signals): void => {
    if (by !== null) process.exit(signal === 'SIGINT' ? 130 : 143)
    by = signal
    controller.abort()
  }
  for (const signal of SIGNALS) process.on(signal, listener)
  return {
    signal: controller.signal,
    get by() {
      return by
    },
    ignore: () => {
      for (const signal of SIGNALS) process.off(signal, listener)
    },
  }
}

/** Resolves when the signal is aborted. */
export function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
