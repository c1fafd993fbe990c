/** A nats-server for one test: it can be killed, wiped and started again on the same port. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findNats } from '../../scripts/services/nats.mjs'

export class OwnNats {
  readonly port: number
  readonly #folder = mkdtempSync(join(tmpdir(), 'petrel-nats-'))
  readonly #args: readonly string[]
  #child: ChildProcess | null = null

  private constructor(port: number, args: readonly string[]) {
    this.port = port
    this.#args = args
  }

  static async start(args: readonly string[] = ['-js']): Promise<OwnNats> {
    const nats = new OwnNats(await freePort(), args)
    await nats.start()
    return nats
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`
  }

  async start(): Promise<void> {
    const args = ['-a', '127.0.0.1', '-p', String(this.port), '-sd', this.#folder, ...this.#args]
    this.#child = spawn(findNats() as string, args, { stdio: 'ignore' })
    while (!(await accepts(this.port))) await new Promise((resolve) => setTimeout(resolve, 20))
  }

  /** SIGKILL, like a power cut, without any notification. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = null
    if (child === null || child.exitCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }

  /** Streams and consumers are gone when it starts again. */
  wipe(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async drop(): Promise<void> {
    await this.kill()
    this.wipe()
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { readonly port: number }
      server.close(() => resolve(port))
    })
  })
}

/** The server sends INFO on every new connection. */
function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ port, host: '127.0.0.1' })
    const end = (there: boolean): void => {
      socket.destroy()
      resolve(there)
    }
    socket.once('data', () => end(true))
    socket.once('error', () => end(false))
  })
}
