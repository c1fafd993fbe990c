/** What playbooks call things. The pieces are for scopes made elsewhere, so that a name means the same everywhere. */
export { group, layers } from './group.ts'
export { iterNames } from './iter.ts'
export { outcomeOf, outputOf } from './output.ts'
export { stepResult } from './result.ts'
export { playbookVocabulary } from './vocabulary.ts'
