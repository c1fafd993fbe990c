import type { Notation } from '../interface/notation.ts'
import { plain } from '../interface/plain.ts'

const KINDS = ['chain', 'group', 'batch']

export const ojs: Notation = {
  name: 'ojs',
  mark: { field: 'type', words: KINDS },
  detect: ({ type }) => KINDS.includes(type as string),
  read: async () => (await import('./compile/parse.ts')).parseWorkflow,
  project: {
    ...plain,
    result: async (reading, instance) => (await import('./project/shape.ts')).shapeOf(reading, instance),
    terms: { ...plain.terms, kind: 'workflow of jobs' },
  },
}
