/**
 * A child process in a group of its own. It ends by itself, by its time limit, or because it is no longer wanted;
 * whatever it does, `runChild` ends, and no process of its group survives.
 *
 *   running   → ended     the process ends by itself
 *   running   → stopping  time is up, the signal is aborted, or its result is longer than allowed: TERM to the group
 *   stopping  → ended     it ends by that; after `graceMs` KILL to the group
 *   ended                 KILL to the rest of the group. Its pipes are read to their end, but not longer than
 *                         DRAIN_MS: a grandchild with a session of its own may keep them open indefinitely.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Duplex, Readable, Writable } from 'node:stream'
import { Lines } from './lines.ts'
import { Tail } from './tail.ts'

export interface ChildParams {
  readonly file: string
  readonly args: readonly string[]
  readonly cwd: string | null
  /** The complete environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>
  readonly stdin: string | null
  readonly outputBytes: number
  /** Longest text on descriptor 3, in bytes; null: nothing is read there. */
  readonly resultBytes: number | null
  readonly timeoutMs: number
  readonly graceMs?: number
  readonly signal: AbortSignal
  /** Takes each line that it prints, as soon as it is complete. */
  readonly print?: (stream: 'stdout' | 'stderr', line: string) => void
}

export interface ChildEnd {
  readonly why: 'ended' | 'timeout' | 'aborted' | 'result_too_large' | 'not_started'
  readonly code: number | null
  readonly killedBy: string | null
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  /** The text received on descriptor 3. */
  readonly result: string
  /** Why the process could not be started. */
  readonly problem: NodeJS.ErrnoException | null
  readonly ms: number
}

const DRAIN_MS = 500
const DEFAULT_GRACE_MS = 2000

export async function runChild(params: ChildParams): Promise<ChildEnd> {
  const output = new Output(params.outputBytes)
  if (params.signal.aborted) return output.end({ why: 'aborted', code: null, killedBy: null, problem: null })
  let child: ChildProcess
  try {
    child = start(params)
  } catch (error) {
    const problem = error as NodeJS.ErrnoException
    return output.end({ why: 'not_started', code: null, killedBy: null, problem })
  }
  return supervise(child, params, output)
}

function supervise(child: ChildProcess, params: ChildParams, output: Output): Promise<ChildEnd> {
  return new Promise((resolve) => {
    let why: ChildEnd['why'] = 'ended'
    let exit: { readonly code: number | null; readonly killedBy: string | null } | null = null
    let killer: NodeJS.Timeout | undefined
    let drained: NodeJS.Timeout | undefined

    const stop = (reason: ChildEnd['why']): void => {
      if (why !== 'ended' || exit !== null) return
      why = reason
      killGroup(child, 'SIGTERM')
      killer = setTimeout(() => killGroup(child, 'SIGKILL'), params.graceMs ?? DEFAULT_GRACE_MS)
    }
    const onAbort = (): void => stop('aborted')
    const timer = setTimeout(() => stop('timeout'), params.timeoutMs)
    params.signal.addEventListener('abort', onAbort, { once: true })

    const finish = (problem: NodeJS.ErrnoException | null): void => {
      clearTimeout(timer)
      clearTimeout(killer)
      clearTimeout(drained)
      params.signal.removeEventListener('abort', onAbort)
      for (const stream of child.stdio) stream?.destroy()
      const reason = problem === null ? why : 'not_started'
      resolve(output.end({ why: reason, code: exit?.code ?? null, killedBy: exit?.killedBy ?? null, problem }))
    }
    child.on('error', (error) => {
      if (child.pid === undefined) finish(error)
    })
    child.on('exit', (code, killedBy) => {
      exit = { code, killedBy }
      clearTimeout(timer)
      killGroup(child, 'SIGKILL')
      drained = setTimeout(() => finish(null), DRAIN_MS)
    })
    child.on('close', () => finish(null))

    output.read(child, params, () => stop('result_too_large'))
    // Nothing is sent on descriptor 4: when it closes, the child knows that this process is gone.
    ignoreErrors(child.stdio[4] as Duplex)
    feed(child.stdin, params.stdin)
  })
}

/** What a child has written so far. */
class Output {
  readonly #began = performance.now()
  readonly #stdout: Tail
  readonly #stderr: Tail
  readonly #result: Buffer[] = []
  readonly #lines: Lines[] = []

  constructor(bytes: number) {
    this.#stdout = new Tail(bytes)
    this.#stderr = new Tail(bytes)
  }

  read(child: ChildProcess, { resultBytes, print }: ChildParams, onTooLarge: () => void): void {
    for (const [stream, tail] of [['stdout', this.#stdout] as const, ['stderr', this.#stderr] as const]) {
      const lines = print === undefined ? null : new Lines((line) => print(stream, line))
      if (lines !== null) this.#lines.push(lines)
      collect(child[stream], (chunk) => {
        tail.push(chunk)
        lines?.push(chunk)
      })
    }
    if (resultBytes === null) return
    let size = 0
    collect(child.stdio[3] as Readable, (chunk) => {
      size += chunk.length
      if (size <= resultBytes) this.#result.push(chunk)
      else onTooLarge()
    })
  }

  end(end: Pick<ChildEnd, 'why' | 'code' | 'killedBy' | 'problem'>): ChildEnd {
    for (const lines of this.#lines) lines.end()
    return {
      ...end,
      stdout: this.#stdout.text(),
      stderr: this.#stderr.text(),
      truncated: this.#stdout.truncated || this.#stderr.truncated,
      result: Buffer.concat(this.#result).toString('utf8'),
      ms: Math.round(performance.now() - this.#began),
    }
  }
}

function start({ file, args, cwd, env, stdin, resultBytes }: ChildParams): ChildProcess {
  return spawn(file, [...args], {
    ...(cwd === null ? {} : { cwd }),
    env: { ...env },
    detached: true,
    stdio: [stdin === null ? 'ignore' : 'pipe', 'pipe', 'pipe', resultBytes === null ? 'ignore' : 'pipe', 'pipe'],
  })
}

function collect(stream: Readable | null, take: (chunk: Buffer) => void): void {
  stream?.on('data', take)
  if (stream !== null) ignoreErrors(stream)
}

/** A child that ends without reading all of its input is not an error. */
function feed(stream: Writable | null, text: string | null): void {
  if (stream === null || text === null) return
  ignoreErrors(stream)
  stream.end(text)
}

function ignoreErrors(stream: Readable | Writable): void {
  stream.on('error', () => {})
}

function killGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // No process of the group is left.
  }
}
