/** What the names in the expressions of each notation mean. A notation that is not listed uses the names of the net. */

import type { Vocabulary } from '../expr/index.ts'
import { playbookVocabulary } from './playbook/vocabulary/index.ts'

export const VOCABULARIES: ReadonlyMap<string, Vocabulary> = new Map([['playbook', playbookVocabulary]])
