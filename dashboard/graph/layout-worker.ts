/** The thread that lays out nets, so that the page stays responsive. */
import type { LayoutInput } from './layout/input.ts'
import { layoutOf } from './layout/layout.ts'

/** As much of a worker's global scope as is used here. */
interface Scope {
  onmessage: ((event: MessageEvent<{ readonly id: number; readonly input: LayoutInput }>) => void) | null
  postMessage(message: unknown, transfer: Transferable[]): void
}

const scope = globalThis as unknown as Scope

scope.onmessage = ({ data: { id, input } }) => {
  const begun = performance.now()
  const layout = layoutOf(input)
  const { x, y, points, pointAt, back } = layout
  const buffers = [x, y, points, pointAt, back].map(({ buffer }) => buffer as ArrayBuffer)
  scope.postMessage({ id, layout, tookMs: performance.now() - begun }, buffers)
}
