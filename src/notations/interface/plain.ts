/** The projection of a net in its own terms: the default of every notation. */
import type { Projection } from './projection.ts'

export const plain: Projection = {
  state: ({ state }) => state,
  headline: ({ state, outcome }) => (outcome === null || PLAIN.has(outcome) ? state : `${state} (${outcome})`),
  steps: {
    nodes: (net) => net.nodes,
    load: async ({ queries }, net, instance, nodes) => {
      const [{ indexNet }, { loadSteps }] = await Promise.all([
        import('../../net/compile.ts'),
        import('../../views/steps.ts'),
      ])
      return loadSteps(queries, indexNet(net), instance, nodes)
    },
  },
  cancel: 'stop',
  terms: { node: 'node', kind: 'net' },
}

/** Outcomes that the state implies. */
const PLAIN: ReadonlySet<string> = new Set(['success', 'failed', 'cancelled', 'rolled_back'])
