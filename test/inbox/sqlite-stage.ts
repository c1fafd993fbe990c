/** An engine on a file, driven by hand, and sqlite3 processes beside it. */
import type { EngineOptions } from '../../src/engine/api.ts'
import type { RunRow, StoredEvent } from '../../src/model/rows.ts'
import { SHARED } from './foreign.ts'
import { SqliteTool, ToolWorker } from './sqlite-tool.ts'
import { Stage } from './stage.ts'

const [FILE] = SHARED.filter((place) => place.name === 'sqlite')

export class ToolStage {
  readonly s: Stage
  readonly path: string
  /** For reading and for producers. */
  readonly tool: SqliteTool
  readonly #tools: { close(): Promise<void> }[] = []

  private constructor(s: Stage) {
    this.s = s
    this.path = s.url.slice('sqlite:'.length)
    this.tool = new SqliteTool(this.path)
    this.#tools.push(this.tool)
  }

  static async open(options: Partial<EngineOptions> = {}): Promise<ToolStage> {
    if (FILE === undefined) throw new Error('there is no place for a file')
    return new ToolStage(await Stage.open(FILE, options))
  }

  worker(name?: string): ToolWorker {
    const worker = new ToolWorker(this.path, name)
    this.#tools.push(worker)
    return worker
  }

  another(): SqliteTool {
    const tool = new SqliteTool(this.path)
    this.#tools.push(tool)
    return tool
  }

  /** Inserts as a producer would, and returns the id. */
  async insert(columns: Record<string, string | number> = {}): Promise<string> {
    const given = { type: 'content.thumbnail.v1', payload: '{"width":300}', ...columns }
    const values = Object.values(given).map((value) => (typeof value === 'number' ? value : `'${value}'`))
    const row = await this.tool.one(
      `INSERT INTO workflow_run (${Object.keys(given).join(', ')}) VALUES (${values.join(', ')}) RETURNING id`,
    )
    return row['id'] as string
  }

  run(id: string): Promise<RunRow> {
    return this.s.run(id)
  }

  /** The history of a run as the tool reads it: types, followed by their data. */
  async recorded(id: string): Promise<string[]> {
    const rows = await this.tool.ask(
      `SELECT event_type || coalesce(' ' || data, '') AS line FROM workflow_history WHERE workflow_id = '${id}'
       ORDER BY created_at, coalesce(event_id, part * 9007199254740991), part`,
    )
    return rows.map((row) => row['line'] as string)
  }

  /** The types alone. */
  async words(id: string): Promise<string[]> {
    return (await this.s.d.store.read.runHistory(id)).map((event: StoredEvent) => event.type)
  }

  async close(): Promise<void> {
    for (const tool of this.#tools) await tool.close()
    await this.s.close()
  }
}
