/** What an execution reports besides its outcome: entries of the context, and notes for the history. */
import { PetrelError } from '../kernel/errors.ts'
import { MAX_NOTES_BYTES, nameProblem } from '../kernel/remarks.ts'
import { toJsonText } from './json.ts'
import type { Remarks } from './port.ts'

export interface RemarksOptions {
  readonly runId: string
  /** false: a bare run, which has no context. */
  readonly inWorkflow: boolean
  /** Of all entries together, in bytes of JSON. */
  readonly maxBytes: number
}

export class ExecutionRemarks {
  readonly #options: RemarksOptions
  /** JSON text by name. */
  readonly #entries = new Map<string, string>()
  #entryBytes = 0
  readonly #notes: string[] = []
  #noteBytes = 0
  #dropped = 0

  constructor(options: RemarksOptions) {
    this.#options = options
  }

  /** The last value of a name is kept. Throws for a value that cannot be written. */
  set(name: string, value: unknown): void {
    const { runId, inWorkflow, maxBytes } = this.#options
    const problem = nameProblem(name)
    if (problem !== null) throw new PetrelError('invalid_request', `ctx.set: ${problem}`)
    if (!inWorkflow) {
      throw new PetrelError('invalid_request', `ctx.set: run ${runId} belongs to no workflow, so there is no context`)
    }
    const text = toJsonText(value, { maxBytes, what: `the context entry '${name}'` })
    const bytes = this.#entryBytes + sizeOf(name, text) - sizeOf(name, this.#entries.get(name))
    if (bytes > maxBytes) {
      const message = `the context entries of one execution take ${bytes} bytes as JSON with '${name}'; at most ${maxBytes} are allowed`
      throw new PetrelError('payload_too_large', message, { maxBytes })
    }
    this.#entryBytes = bytes
    this.#entries.set(name, text)
  }

  /** Never throws: history is not worth a failed run. Returns why the note was dropped; null: it was kept. */
  tell(note: unknown): string | null {
    try {
      const text = toJsonText(note, { maxBytes: MAX_NOTES_BYTES, what: 'the note' })
      const bytes = Buffer.byteLength(text) + 1
      if (this.#noteBytes + bytes <= MAX_NOTES_BYTES) {
        this.#noteBytes += bytes
        this.#notes.push(text)
        return null
      }
      this.#dropped++
      return `the notes of one execution take at most ${MAX_NOTES_BYTES} bytes`
    } catch (error) {
      this.#dropped++
      return (error as Error).message
    }
  }

  parts(): Remarks {
    const entries = [...this.#entries].map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    return {
      ...(entries.length > 0 && { set: `{${entries.join(',')}}` }),
      ...(this.#notes.length > 0 && { notes: `[${this.#notes.join(',')}]` }),
      ...(this.#dropped > 0 && { notesDropped: this.#dropped }),
    }
  }
}

function sizeOf(name: string, text: string | undefined): number {
  return text === undefined ? 0 : Buffer.byteLength(name) + Buffer.byteLength(text) + 4
}
