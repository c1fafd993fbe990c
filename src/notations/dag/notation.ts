import type { Notation } from '../interface/notation.ts'
import { plain } from '../interface/plain.ts'
import { CATEGORIES } from './compile/workflow.ts'
import { TELEMETRY_TYPES } from './project/telemetry-types.ts'
import { dagState } from './project/transitions.ts'
import { dagNodes } from './project/words.ts'

/** Workflows of steps. */
export const dag: Notation = {
  name: 'dag',
  mark: { field: 'kind', words: ['Workflow'] },
  detect: ({ kind }) => kind === 'Workflow',
  read: async () => (await import('./compile/parse.ts')).parseDag,
  project: {
    ...plain,
    state: ({ state }) => dagState(state),
    steps: { ...plain.steps, nodes: dagNodes },
    own: async (reading, instance) => (await import('./project/sheet.ts')).ownOf(reading, instance),
    telemetry: {
      types: TELEMETRY_TYPES,
      load: async (reading, events) => (await import('./project/telemetry-load.ts')).loadTelemetry(reading, events),
    },
    terms: { node: 'node', kind: 'workflow of steps (dag)', errorCategories: CATEGORIES },
  },
}
