import type { Notation } from '../interface/notation.ts'

const KINDS = ['chain', 'group', 'batch']

export const ojs: Notation = {
  name: 'ojs',
  mark: { field: 'type', words: KINDS },
  detect: ({ type }) => KINDS.includes(type as string),
  read: async () => (await import('./compile/parse.ts')).parseWorkflow,
}
