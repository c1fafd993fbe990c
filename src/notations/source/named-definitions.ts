/** Definitions that the one being read is made of: found by name, each read once, however often it is named. */
import type { Tools } from '../../tools/tools.ts'
import type { Definition } from './definition.ts'
import { DefinitionError } from './mistakes.ts'

export interface DefinitionText {
  /** Only named in errors. */
  readonly file: string
  readonly text: string
}

/** The text of a definition by its name; null: there is none. */
export type Resolve = (name: string) => DefinitionText | null | Promise<DefinitionText | null>

export interface ReadOptions {
  /** Finds the definitions that this one names. Left out: everything must be in the file itself. */
  readonly resolve?: Resolve
  /** Names to suggest when one is not found. */
  readonly names?: () => readonly string[] | Promise<readonly string[]>
  /** The tools of playbook workers. Left out: the tools that come with Petrel. */
  readonly tools?: Tools
  /** true: text that is understood although it should be written differently is a mistake. Left out: a warning. */
  readonly strict?: boolean
  /** The owner of the file: large files of one owner are read one after the other. */
  readonly owner?: string
}

/** A definition on the way to the one being read, and the workflows inside it that lead there. */
export interface Stop {
  readonly definition: string
  readonly inside: readonly string[]
  /** Its file, for notations that name others by their place. */
  readonly file?: string
}

/** With its file; an error belongs to that file and contains every mistake. */
export type Other =
  | { readonly file: string; readonly definition: Definition }
  | { readonly file: string; readonly error: DefinitionError }
  | null

interface Shared {
  readonly options: ReadOptions
  readonly read: (found: DefinitionText, others: Others) => Promise<Definition>
  readonly known: Map<string, Other>
}

export class Others {
  readonly #shared: Shared
  /** Outermost first; empty: the definition being read is the outermost. */
  readonly trail: readonly Stop[]

  private constructor(shared: Shared, trail: readonly Stop[]) {
    this.#shared = shared
    this.trail = trail
  }

  static of(options: ReadOptions, read: Shared['read']): Others {
    return new Others({ options, read, known: new Map() }, [])
  }

  /** null: the tools that come with Petrel. */
  get tools(): Tools | null {
    return this.#shared.options.tools ?? null
  }

  get strict(): boolean {
    return this.#shared.options.strict ?? false
  }

  names(): Promise<readonly string[]> {
    return Promise.resolve(this.#shared.options.names?.() ?? [])
  }

  /** `here` ends with the definition that names it. The caller makes sure that the name is not among them. */
  async find(name: string, here: readonly Stop[]): Promise<Other> {
    const { known, options, read } = this.#shared
    const before = known.get(name)
    if (before !== undefined) return before
    const found = (await options.resolve?.(name)) ?? null
    const other = found === null ? null : await attempt(found.file, read(found, new Others(this.#shared, here)))
    known.set(name, other)
    return other
  }
}

async function attempt(file: string, reading: Promise<Definition>): Promise<Other> {
  try {
    return { file, definition: await reading }
  } catch (error) {
    if (!(error instanceof DefinitionError)) throw error
    return { file, error }
  }
}
