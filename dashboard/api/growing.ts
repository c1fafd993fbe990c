/** A list that grows as the user asks for more, and is kept up to date as a whole: for lists of moderate length. */
import { type ReadonlySignal, signal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { type Batch, rowsUpTo } from './batches.ts'
import { type Live, type LiveOptions, useLive } from './live.ts'

export interface Growing<Row> {
  readonly live: Live<{ readonly rows: readonly Row[]; readonly hasMore: boolean }>
  readonly busy: ReadonlySignal<boolean>
  more(): void
}

const STEP = 100

export function useGrowing<Row, Cursor>(
  key: string,
  read: (after: Cursor | null, signal: AbortSignal) => Promise<Batch<Row, Cursor>>,
  options: LiveOptions = {},
): Growing<Row> {
  const size = useMemo(() => ({ wanted: STEP, busy: signal(false) }), [key])
  const live = useLive(key, (abort) => rowsUpTo(size.wanted, (after: Cursor | null) => read(after, abort)), options)
  const more = async (): Promise<void> => {
    if (size.busy.value || live.data.value?.hasMore !== true) return
    size.busy.value = true
    size.wanted += STEP
    await live.refresh()
    live.show()
    size.busy.value = false
  }
  return { live, busy: size.busy, more: () => void more() }
}
