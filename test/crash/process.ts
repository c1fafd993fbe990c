/**
 * A program in another process that prints one JSON object per line, takes commands in the same form, and may be
 * killed.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The directory of the built engine; builds it first if it is older than its source. */
export function built(): string {
  const given = process.env['PETREL_TEST_DIST']
  if (given) return given
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'scripts/setup.mjs')], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the engine could not be built:\n${stdout}${stderr}`)
  return join(root, 'dist')
}

export type Line = { readonly [key: string]: unknown }

export class Program {
  readonly #child: ChildProcess
  readonly #exited: Promise<string>
  readonly #lines: Line[] = []
  readonly #waiting: { readonly wanted: (line: Line) => boolean; resolve(line: Line): void }[] = []
  #stderr = ''
  #ended: string | null = null
  /** Called with every line as it arrives. */
  onLine: (line: Line) => void = () => {}

  constructor(file: string, settings: object) {
    this.#child = spawn(process.execPath, [file, JSON.stringify(settings)], { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child.stderr?.on('data', (chunk) => {
      this.#stderr = (this.#stderr + String(chunk)).slice(-20_000)
    })
    this.#child.stdin?.on('error', () => {})
    const output = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })
    output.on('line', (text) => this.#take(JSON.parse(text) as Line))
    this.#exited = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        this.#ended = signal ?? `code ${code}`
        resolve(this.#ended)
      })
    })
  }

  get pid(): number {
    return this.#child.pid as number
  }

  /** The first line with this key, already received or still to come. Each line is returned once. */
  async line<L = Line>(key: string, timeoutMs = 30_000): Promise<L> {
    const wanted = (line: Line): boolean => key in line
    const at = this.#lines.findIndex(wanted)
    if (at >= 0) return this.#lines.splice(at, 1)[0] as L
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`process ${this.pid} printed no ${key} within ${timeoutMs} ms${this.#output()}`)),
        timeoutMs,
      )
    })
    const gone = this.#exited.then((how) => {
      throw new Error(`process ${this.pid} ended (${how}) before it printed ${key}${this.#output()}`)
    })
    try {
      const given = new Promise<Line>((resolve) => this.#waiting.push({ wanted, resolve }))
      return (await Promise.race([given, late, gone])) as L
    } finally {
      clearTimeout(timer)
      gone.catch(() => {})
    }
  }

  tell(command: object): void {
    this.#child.stdin?.write(`${JSON.stringify(command)}\n`)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /** SIGKILL; resolves when the process is gone, with its exit. */
  async kill(): Promise<string> {
    this.#child.kill('SIGKILL')
    return this.#exited
  }

  async exit(): Promise<string> {
    return this.#exited
  }

  #take(line: Line): void {
    this.onLine(line)
    const at = this.#waiting.findIndex(({ wanted }) => wanted(line))
    if (at < 0) this.#lines.push(line)
    else this.#waiting.splice(at, 1)[0]?.resolve(line)
  }

  #output(): string {
    const lines = this.#lines.slice(-5).map((line) => JSON.stringify(line))
    return `\n${[...lines, this.#stderr].join('\n')}`
  }
}
