import type { Notation } from '../interface/notation.ts'
import { plain } from '../interface/plain.ts'

export const net: Notation = {
  name: 'net',
  mark: { field: 'kind', words: ['Net'] },
  detect: ({ kind }) => kind === 'Net',
  read: async () => (await import('./parse.ts')).parseNet,
  project: plain,
}
