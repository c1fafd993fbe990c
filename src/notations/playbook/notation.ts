import type { Notation } from '../interface/notation.ts'
import { plain } from '../interface/plain.ts'
import { EVENT_TYPES, type ExecutionEvent } from './project/envelope.ts'
import { kindsAt } from './project/tools.ts'
import { traceOf } from './project/trace.ts'
import { EXECUTION_STATUSES, executionStatus, playbookNodes } from './project/words.ts'
import { isStepType, type StepPayload } from './runtime/program.ts'

export const playbook: Notation = {
  name: 'playbook',
  mark: { field: 'kind', words: ['Playbook'] },
  detect: ({ kind, apiVersion }) =>
    kind === 'Playbook' || (kind === undefined && typeof apiVersion === 'string' && apiVersion.startsWith('noetl.io/')),
  read: async () => (await import('./read/parse.ts')).parsePlaybook,
  vocabulary: async () => (await import('./vocabulary/index.ts')).playbookVocabulary,
  programs: {
    owns: isStepType,
    /** What its author gave the step: its item, or its args. */
    input: (payload) => {
      const { item, args = {} } = payload as unknown as StepPayload
      return item === undefined ? args : item.value
    },
  },
  project: {
    ...plain,
    state: executionStatus,
    headline: executionStatus,
    steps: {
      nodes: playbookNodes,
      load: async (reading, net, instance, nodes) =>
        (await import('./project/steps.ts')).loadOwnSteps(reading, net, instance, nodes),
    },
    own: async (reading, instance) => (await import('./project/sheet.ts')).ownOf(reading, instance),
    progress: async (reading, instance, how) => (await import('./project/sheet.ts')).progressAt(reading, instance, how),
    events: {
      types: EVENT_TYPES,
      page: async (reading, instance, net, asked) =>
        (await import('./project/events.ts')).loadEvents(reading, instance, net, asked),
      of: async (reading, instance, net, lines) =>
        (await (await import('./project/events.ts')).unfoldAll(reading, instance, net, lines)).map(
          ({ event }) => event,
        ),
      table: async ({ events, in_flight }, since) =>
        (await import('./project/events-table.ts')).eventsTable(
          [...events, ...in_flight] as readonly ExecutionEvent[],
          since,
        ),
    },
    trace: traceOf,
    uses: { name: 'tools', of: (net) => net.nodes.flatMap(kindsAt) },
    terms: { states: EXECUTION_STATUSES, node: 'step', kind: 'playbook' },
  },
}
