import type { Notation } from '../interface/notation.ts'

export const saga: Notation = {
  name: 'saga',
  mark: { field: 'kind', words: ['Saga'] },
  detect: ({ kind }) => kind === 'Saga',
  read: async () => (await import('./compile/parse.ts')).parseSaga,
}
