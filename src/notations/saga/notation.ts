import type { Notation } from '../interface/notation.ts'
import { plain } from '../interface/plain.ts'
import type { SagaProgram } from './runtime/program.ts'

export const saga: Notation = {
  name: 'saga',
  mark: { field: 'kind', words: ['Saga'] },
  detect: ({ kind }) => kind === 'Saga',
  read: async () => (await import('./compile/parse.ts')).parseSaga,
  services: {
    handlers: async (net, options) => (await import('./runtime/handler.ts')).dryRunHandlers(net, options),
  },
  project: {
    ...plain,
    // A saga that is cancelled half way is useless, so its completed steps are undone.
    cancel: 'undo',
    uses: {
      name: 'subjects',
      of: ({ nodes }) =>
        nodes.flatMap(({ work }) => (work.kind === 'run' ? [(work.program as unknown as SagaProgram).subject] : [])),
    },
    terms: { ...plain.terms, node: 'step', kind: 'saga' },
  },
}
