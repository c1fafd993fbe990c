/**
 * One try of a task: its tool is called once and its answer converted to an outcome. It ends when the tool answers,
 * when the task's time limit has passed, or when the run is stopped; a tool that then ignores its signal is abandoned.
 */
import { MAX_TIMER_MS } from '../../../kernel/limits.ts'
import { inOrder } from '../../../net/json.ts'
import type { Json } from '../../../net/net.ts'
import type { Envelope, Tool, ToolCall, ToolError } from '../../../tools/tool.ts'
import { toJsonText } from '../../../worker/json.ts'
import { type Outcome, ownError } from './outcome.ts'
import type { Redactor } from './redactor.ts'

/** How long a tool may take to end after its signal was aborted: time to kill a process and to report its output. */
const STOP_GRACE_MS = 500
/** Larger than the limit for a step: intermediate tasks may fetch much and keep little. */
const LARGEST_RESULT = 16 * 1024 * 1024

export interface Try {
  readonly tool: Tool
  readonly call: Omit<ToolCall, 'signal'>
  readonly attempt: number
  readonly redactor: Redactor
  /** The run's signal: if it is aborted, the try throws its reason. */
  readonly signal: AbortSignal
}

export async function tryTask({ tool, call, attempt, redactor, signal }: Try): Promise<Outcome> {
  const ts = new Date().toISOString()
  const began = performance.now()
  const envelope = storable(await answer(tool, call, signal), redactor)
  return { ...envelope, meta: { attempt, duration_ms: Math.round(performance.now() - began), ts } }
}

async function answer(tool: Tool, call: Try['call'], signal: AbortSignal): Promise<Envelope> {
  signal.throwIfAborted()
  const own = new AbortController()
  // Before the tool is called: its synchronous part may stop the run.
  const end = new End(signal, call.timeoutMs)
  const running = asked(tool, { ...call, signal: own.signal })
  const first = await Promise.race([running, end.reached])
  end.forget()
  if (first !== 'stopped' && first !== 'late') return first
  own.abort(first === 'stopped' ? signal.reason : undefined)
  const last = await atMost(running, STOP_GRACE_MS)
  if (first === 'stopped') throw signal.reason
  return tooLate(call.timeoutMs!, last)
}

/** What ends a try from outside. */
class End {
  readonly reached: Promise<'stopped' | 'late'>
  readonly #signal: AbortSignal
  #stop!: () => void
  #timer: NodeJS.Timeout | null = null

  constructor(signal: AbortSignal, timeoutMs: number | null) {
    this.#signal = signal
    this.reached = new Promise((resolve) => {
      this.#stop = () => resolve('stopped')
      signal.addEventListener('abort', this.#stop)
      if (timeoutMs !== null) this.#timer = setTimeout(() => resolve('late'), Math.min(timeoutMs, MAX_TIMER_MS))
    })
  }

  forget(): void {
    this.#signal.removeEventListener('abort', this.#stop)
    if (this.#timer !== null) clearTimeout(this.#timer)
  }
}

/** null: it took longer. */
async function atMost<T>(promise: Promise<T>, ms: number): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(() => resolve(null), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Any exception of a tool becomes an error of that tool. */
async function asked(tool: Tool, call: ToolCall): Promise<Envelope> {
  try {
    const envelope: unknown = await tool.run(call)
    if (isEnvelope(envelope)) return envelope
    return faulty(ownError('unknown', 'TOOL_ERROR', `the tool '${tool.kind}' did not answer with an envelope`))
  } catch (problem) {
    const message = problem instanceof Error && problem.message !== '' ? problem.message : String(problem)
    return faulty(ownError('unknown', 'TOOL_ERROR', message))
  }
}

function isEnvelope(value: unknown): value is Envelope {
  if (typeof value !== 'object' || value === null) return false
  const { status, error } = value as { readonly status?: unknown; readonly error?: { readonly kind?: unknown } | null }
  return status === 'ok' || (status === 'error' && typeof error?.kind === 'string')
}

/** The tool's own report about its timeout is kept: it may contain what was done by then. */
function tooLate(timeoutMs: number, answer: Envelope | null): Envelope {
  if (answer?.error?.kind === 'timeout') return answer
  const message = `the task took longer than its timeout of ${timeoutMs} ms`
  return faulty({ ...ownError('timeout', 'TASK_TIMEOUT', message), retryable: true })
}

/** Checks that an answer can be stored, and removes secrets before any other code reads it. */
function storable(envelope: Envelope, redactor: Redactor): Envelope {
  const { status, result = null, error = null, http, pg, py } = envelope
  const rest = { error, ...(http && { http }), ...(pg && { pg }), ...(py && { py }) }
  try {
    const text = toJsonText(result, { maxBytes: LARGEST_RESULT, what: 'the result' })
    const restText = toJsonText(rest, { maxBytes: LARGEST_RESULT, what: 'the error' })
    // Read back if it was not plain JSON: rules must judge what would be stored.
    const plain = typeof result === 'object' ? inOrder(JSON.parse(text) as Json) : result
    return { status, result: redactor.json(plain, text), ...redactor.json(JSON.parse(restText), restText) }
  } catch (problem) {
    return faulty(ownError('transform', 'UNSTORABLE', redactor.text((problem as Error).message)))
  }
}

function faulty(error: ToolError): Envelope {
  return { status: 'error', result: null, error }
}
