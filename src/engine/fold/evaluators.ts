/** How the expressions of each notation are evaluated. */

import { type Evaluator, newEvaluator, type Vocabulary } from '../../expr/index.ts'

/** By notation. A notation without a vocabulary uses the names of the net. */
export type Vocabularies = ReadonlyMap<string, Vocabulary>

/** An evaluator for each notation, created when it is first needed. */
export class Evaluators {
  readonly #vocabularies: Vocabularies
  readonly #common = newEvaluator()
  readonly #own = new Map<string, Evaluator>()

  constructor(vocabularies: Vocabularies) {
    this.#vocabularies = vocabularies
  }

  of(dialect: string): Evaluator {
    const known = this.#own.get(dialect)
    if (known !== undefined) return known
    const vocabulary = this.#vocabularies.get(dialect)
    const evaluator = vocabulary === undefined ? this.#common : newEvaluator(vocabulary)
    this.#own.set(dialect, evaluator)
    return evaluator
  }
}
