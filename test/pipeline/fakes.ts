/** A run in memory, and tools that are functions: a pipeline without an engine around it. */
import { setImmediate as turn } from 'node:timers/promises'
import { vi } from 'vitest'
import type { Logger } from '../../src/kernel/logger.ts'
import type { Failure } from '../../src/net/marking.ts'
import type { Json } from '../../src/net/net.ts'
import { makeStepHandler, type StepHandlerOptions } from '../../src/notations/playbook/runtime/handler.ts'
import type { Program, Rule, StepPayload, Task } from '../../src/notations/playbook/runtime/program.ts'
import type { Envelope, Tool, ToolCall } from '../../src/tools/tool.ts'
import { Tools } from '../../src/tools/tools.ts'
import type { Context } from '../../src/worker/context.ts'
import { Failed } from '../../src/worker/errors.ts'
import { toJsonText } from '../../src/worker/json.ts'
import { Later } from '../../src/worker/later.ts'

export const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export function task(label: string, more: Partial<Task> = {}): Task {
  return {
    label,
    kind: 'fake',
    config: {},
    input: null,
    rules: [],
    onUnmatched: 'fail',
    set: null,
    timeoutMs: null,
    line: 1,
    ...more,
  }
}

export function rule(when: string | null, action: Rule['do'], more: Partial<Rule> = {}): Rule {
  return { when, do: action, attempts: 3, backoff: 'none', delayS: 0, to: null, set: null, line: 1, ...more }
}

export function program(tasks: readonly Task[], more: Partial<Program> = {}): Program {
  return { step: 'work', iterator: null, input: null, tasks, keychain: [], ...more }
}

export function payload(more: Partial<StepPayload> = {}): StepPayload {
  return { execution_id: 'exec-1', workload: {}, ctx: {}, steps: {}, args: null, ...more }
}

export const ok = (result: Json): Envelope => ({ status: 'ok', result, error: null })

export function error(kind = 'server_error', more: Partial<Envelope> = {}): Envelope {
  return {
    status: 'error',
    result: null,
    error: { kind, retryable: true, code: 'HTTP_500', message: `it answered ${kind}` },
    ...more,
  }
}

type Answer = (call: ToolCall, n: number) => Envelope | Promise<Envelope>

/** A tool that returns scripted replies and records its calls. */
export class FakeTool implements Tool {
  readonly kind: string
  readonly calls: ToolCall[] = []
  readonly #answer: Answer

  constructor(answer: Answer, kind = 'fake') {
    this.kind = kind
    this.#answer = answer
  }
  check() {
    return []
  }
  async run(call: ToolCall): Promise<Envelope> {
    this.calls.push(call)
    return await this.#answer(call, this.calls.length)
  }
  /** Labels in the order of their attempts. */
  get labels(): readonly string[] {
    return this.calls.map(({ context }) => String(context['task']))
  }
}

/** State that outlives an execution. */
export class FakeRun {
  readonly program: Program
  readonly payload: StepPayload
  checkpoint: string | null = null
  checkpoints = 0
  loads = 0
  maxBytes = 1024 * 1024
  logged: unknown[] = []

  constructor(what: Program, given: StepPayload = payload()) {
    this.program = what
    this.payload = given
  }
}

export interface Executed {
  readonly kind: 'succeeded' | 'failed' | 'later' | 'threw'
  readonly result?: Json
  readonly failure?: Failure
  readonly ms?: number
  readonly thrown?: unknown
  readonly set: { readonly [name: string]: Json }
  readonly notes: readonly any[]
}

export interface ExecuteOptions extends Partial<StepHandlerOptions> {
  readonly tool?: Tool
  readonly attempt?: number
  readonly tenant?: string
  readonly signal?: AbortSignal
}

/** One execution of the run, as in a worker: payload and results cross as JSON text. */
export async function execute(run: FakeRun, options: ExecuteOptions = {}): Promise<Executed> {
  const { tool, attempt = 1, tenant = null, signal = new AbortController().signal, ...handlerOptions } = options
  const tools = options.tools ?? new Tools()
  if (tool !== undefined) tools.add(tool)
  const handler = makeStepHandler({ ...handlerOptions, tools }) as unknown as (
    given: StepPayload,
    ctx: Context,
  ) => Promise<unknown>
  const set: Record<string, Json> = {}
  const notes: Json[] = []
  const text = (value: unknown) => toJsonText(value, { maxBytes: run.maxBytes, what: 'the value' })
  const remember = (level: string) => (context: object, message: string) => {
    run.logged.push({ level, context, message })
  }
  const ctx = {
    runId: 'run-1',
    key: 'key-1',
    tenant,
    attempt,
    signal,
    logger: { debug: remember('debug'), info: remember('info'), warn: remember('warn'), error: remember('error') },
    program: async () => run.program,
    set: (name: string, value: unknown) => {
      set[name] = JSON.parse(text(value)) as Json
    },
    tell: (note: unknown) => notes.push(JSON.parse(text(note)) as Json),
    later: (ms: number) => new Later(ms),
    fail: (failure: Failure) => {
      throw new Failed(failure)
    },
    checkpoint: async (state: unknown) => {
      run.checkpoint = text(state)
      return ++run.checkpoints
    },
    loadCheckpoint: async () => {
      run.loads++
      return run.checkpoint === null ? null : JSON.parse(run.checkpoint)
    },
  } as unknown as Context
  try {
    const value = await handler(JSON.parse(JSON.stringify(run.payload)), ctx)
    if (value instanceof Later) return { kind: 'later', ms: value.delayMs, set, notes }
    return { kind: 'succeeded', result: JSON.parse(text(value)), set, notes }
  } catch (thrown) {
    if (thrown instanceof Failed) return { kind: 'failed', failure: thrown.failure, set, notes }
    return { kind: 'threw', thrown, set, notes }
  }
}

/** With timers that tests move: until a timer is pending. A pipeline may let the event loop turn before that. */
export async function ticking(): Promise<void> {
  while (vi.getTimerCount() === 0) await turn()
}
