/** Calls a tool as a pipeline does, and returns its envelope. */
import { expect } from 'vitest'
import type { Envelope, Fields, ToolCall } from '../../src/tools/tool.ts'
import { Tools, type ToolsOptions } from '../../src/tools/tools.ts'

export interface CallOptions {
  readonly input?: Fields
  readonly context?: Fields
  readonly tenant?: string
  readonly signal?: AbortSignal
  readonly timeoutMs?: number | null
  readonly logger?: ToolCall['logger']
  readonly conceal?: (secret: string) => void
  readonly tools?: ToolsOptions
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

export function call(kind: string, config: Fields, options: CallOptions = {}): Promise<Envelope> {
  const tool = Tools.standard(options.tools).find(kind)
  if (tool === null) throw new Error(`no tool ${kind}`)
  return tool.run({
    config,
    input: options.input ?? {},
    context: options.context ?? {},
    tenant: options.tenant ?? null,
    signal: options.signal ?? new AbortController().signal,
    timeoutMs: options.timeoutMs ?? null,
    key: 'run-1/task',
    logger: options.logger ?? silent,
    conceal: options.conceal ?? (() => {}),
  })
}

/** The result of a call that must succeed. */
export async function resultOf(kind: string, config: Fields, options: CallOptions = {}): Promise<any> {
  const envelope = await call(kind, config, options)
  expect(envelope).toMatchObject({ status: 'ok', error: null })
  return envelope.result
}

/** The error of a call that must not succeed. */
export async function errorOf(kind: string, config: Fields, options: CallOptions = {}): Promise<any> {
  const envelope = await call(kind, config, options)
  expect(envelope).toMatchObject({ status: 'error' })
  return envelope.error
}

/** Waits for an effect of another process; fails with an error if there is none. */
export async function until(what: string, holds: () => boolean | Promise<boolean>, withinMs = 10_000): Promise<void> {
  const giveUpAt = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > giveUpAt) throw new Error(`not within ${withinMs} ms: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
