import type { Notation } from '../interface/notation.ts'

export const dag: Notation = {
  name: 'dag',
  mark: { field: 'kind', words: ['Workflow'] },
  detect: ({ kind }) => kind === 'Workflow',
  read: async () => (await import('./compile/parse.ts')).parseDag,
}
