/** Reads a definition part by part, and refuses it with every mistake that was noted. */
import type { Mistake } from '../../kernel/reading/mistakes.ts'
import { type Notes, Part } from '../../kernel/reading/part.ts'
import { DefinitionError, type LocatedMistake } from './mistakes.ts'
import { locateMistakes, type Source } from './source.ts'

export class Reader implements Notes {
  readonly source: Source
  private readonly mistakes: Mistake[] = []
  private readonly elsewhere: LocatedMistake[] = []

  constructor(source: Source) {
    this.source = source
  }

  get root(): Part {
    return new Part(this, this.source.value, [])
  }

  note(mistake: Mistake): void {
    this.mistakes.push(mistake)
  }

  /** Mistakes of a file that this one is made of: they refuse both. */
  noteElsewhere(mistakes: readonly LocatedMistake[]): void {
    this.elsewhere.push(...mistakes)
  }

  get clean(): boolean {
    return this.mistakes.length === 0 && this.elsewhere.length === 0
  }

  throwIfWrong(): void {
    if (this.clean) return
    const { file } = this.source
    throw new DefinitionError(file, [...locateMistakes(this.source, this.mistakes), ...once(this.elsewhere)])
  }
}

/** Two files may be made of the same third one. */
export function once(mistakes: readonly LocatedMistake[]): readonly LocatedMistake[] {
  return [...new Map(mistakes.map((m) => [`${m.file}:${m.line}:${m.column}:${m.message}`, m])).values()]
}
