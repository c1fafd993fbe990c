import type { Vocabulary } from '../../expr/index.ts'
import { type Evaluator, newEvaluator } from '../../expr/index.ts'
import { playbookVocabulary } from '../../notations/playbook/vocabulary/index.ts'

/** Notations that have names of their own. Any other uses those of the net. */
const VOCABULARIES: { readonly [dialect: string]: Vocabulary } = { playbook: playbookVocabulary }

/** An evaluator for each notation, made when it is first asked for. */
export class Evaluators {
  readonly #common = newEvaluator()
  readonly #own = new Map<string, Evaluator>()

  of(dialect: string): Evaluator {
    const vocabulary = Object.hasOwn(VOCABULARIES, dialect) ? VOCABULARIES[dialect] : undefined
    if (vocabulary === undefined) return this.#common
    let own = this.#own.get(dialect)
    if (own === undefined) this.#own.set(dialect, (own = newEvaluator(vocabulary)))
    return own
  }
}
