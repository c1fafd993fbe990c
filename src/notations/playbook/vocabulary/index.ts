/** The names of playbooks. The pieces are exported for other scopes, so that a name has the same meaning everywhere. */
export { group, layers } from './group.ts'
export { iterNames } from './iter.ts'
export { outcomeOf, outputOf } from './output.ts'
export { stepResult } from './result.ts'
export { playbookVocabulary } from './vocabulary.ts'
