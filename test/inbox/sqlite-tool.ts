/** The sqlite3 command-line tool as another program on the same file: a separate process, fed line by line. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'

type Row = { readonly [column: string]: string | number | null }

const DONE = '-- done --'
/** Both kinds of errors begin like this; the sentence comes from the trigger or from SQLite. */
const FAILURE = /^(?:Runtime|Parse) error near line \d+: (.*?)(?: \(\d+\))?$/m

export const hasSqlite3 = (): boolean => spawnSync('sqlite3', ['--version'], { stdio: 'ignore' }).status === 0

export class SqliteTool {
  readonly #process: ChildProcessWithoutNullStreams
  #heard = ''
  #waiting: ((answer: string) => void) | null = null

  constructor(path: string) {
    // Errors are written to the same stream as rows, so that they are in order.
    this.#process = spawn('sh', ['-c', 'exec sqlite3 -batch "$0" 2>&1', path])
    this.#process.stdout.setEncoding('utf8').on('data', (text: string) => this.#hear(text))
    this.#process.stdin.write('.timeout 5000\n.mode json\n')
  }

  /** The rows of the one statement among these that returns any. */
  async ask(sql: string): Promise<readonly Row[]> {
    if (this.#waiting !== null) throw new Error('one question at a time')
    const answer = await new Promise<string>((resolve) => {
      this.#waiting = resolve
      this.#process.stdin.write(`${sql.trim()};\n.print '${DONE}'\n`)
    })
    const failure = FAILURE.exec(answer)
    if (failure !== null) throw new Error(failure[1])
    return answer.trim() === '' ? [] : JSON.parse(answer)
  }

  async one(sql: string): Promise<Row> {
    const [row] = await this.ask(sql)
    if (row === undefined) throw new Error(`no row: ${sql}`)
    return row
  }

  /** How many rows a statement has changed. */
  async change(sql: string): Promise<number> {
    return (await this.one(`${sql}; SELECT changes() AS n`))['n'] as number
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.stdin.end()
    await ended
  }

  async kill(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve))
    this.#process.kill('SIGKILL')
    await ended
  }

  #hear(text: string): void {
    this.#heard += text
    const end = this.#heard.indexOf(`${DONE}\n`)
    if (end < 0) return
    const answer = this.#heard.slice(0, end)
    this.#heard = this.#heard.slice(end + DONE.length + 1)
    const resolve = this.#waiting
    this.#waiting = null
    resolve?.(answer)
  }
}

const NOW = '(SELECT now FROM workflow_clock)'

/** A worker by plain SQL, which has only the results of its own statements. */
export class ToolWorker {
  readonly tool: SqliteTool
  readonly name: string

  constructor(path: string, name = 'sh-1') {
    this.tool = new SqliteTool(path)
    this.name = name
  }

  /** Also tries to take over another worker's expired lease. `types` is a LIKE pattern. */
  async claim(types = '%', seconds = 30): Promise<{ readonly id: string; readonly attempt: number } | null> {
    const [row] = await this.tool.ask(
      `UPDATE workflow_run SET status = 'leased', leased_by = '${this.name}', lease_until = ${NOW} + ${seconds * 1000}, updated_at = ${NOW}
       WHERE id = (SELECT id FROM workflow_run
         WHERE ((status = 'pending' AND run_at <= ${NOW}) OR (status = 'leased' AND lease_until < ${NOW}))
           AND deleted_at IS NULL AND type LIKE '${types}' ORDER BY priority, created_at LIMIT 1)
       RETURNING id, attempt`,
    )
    return row === undefined ? null : { id: row['id'] as string, attempt: row['attempt'] as number }
  }

  async claimed(types?: string, seconds?: number): Promise<{ readonly id: string; readonly attempt: number }> {
    const run = await this.claim(types, seconds)
    if (run === null) throw new Error('nothing to claim')
    return run
  }

  heartbeat(id: string, seconds = 30): Promise<number> {
    return this.#set(id, `lease_until = ${NOW} + ${seconds * 1000}`, `AND status = 'leased'`)
  }

  succeed(id: string, result = '{"ok":true}'): Promise<number> {
    return this.#set(id, `status = 'succeeded', result = '${result}'`)
  }

  fail({ id, attempt }: { readonly id: string; readonly attempt: number }, last = false): Promise<number> {
    const status = last ? 'failed' : 'pending'
    return this.#set(
      id,
      `status = '${status}', attempt = ${attempt + 1}, run_at = ${NOW} + 60000, last_error = 'no route'`,
    )
  }

  giveBack(id: string): Promise<number> {
    return this.#set(id, `status = 'pending'`)
  }

  cancel(id: string): Promise<number> {
    return this.#set(id, `status = 'cancelled'`, `AND status IN ('pending', 'leased')`)
  }

  close(): Promise<void> {
    return this.tool.close()
  }

  #set(id: string, what: string, where = ''): Promise<number> {
    return this.tool.change(`UPDATE workflow_run SET ${what}, updated_at = ${NOW} WHERE id = '${id}' ${where}`)
  }
}
