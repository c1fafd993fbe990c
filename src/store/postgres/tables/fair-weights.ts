/** How much the keys of a queue weigh. */
import { MAX_FAIR_WEIGHTS } from '../../../kernel/limits.ts'
import type { Registry } from '../../../model/registry.ts'
import { ask, askOne } from '../connection/ask.ts'
import type { Lanes } from '../connection/lanes.ts'
import { statement } from '../connection/statement.ts'

const LIST = statement(
  'SELECT w.key, w.weight FROM workflow.workflow_fair_weight w WHERE w.queue = $1::text ORDER BY w.key',
)
/** Two operators at the same moment may exceed the bound by one. */
const PUT = statement(
  `INSERT INTO workflow.workflow_fair_weight (queue, key, weight) SELECT $1::text, $2::text, $3::int
   WHERE (SELECT count(*) FROM workflow.workflow_fair_weight w WHERE w.queue = $1::text AND w.key <> $2::text) < ${MAX_FAIR_WEIGHTS}
   ON CONFLICT (queue, key) DO UPDATE SET weight = excluded.weight RETURNING key`,
)
const REMOVE = statement(
  'DELETE FROM workflow.workflow_fair_weight w WHERE w.queue = $1::text AND w.key = $2::text RETURNING w.key',
)

type FairWeights = Pick<Registry, 'fairWeights' | 'putFairWeight' | 'removeFairWeight'>

export function fairWeightsOn(lanes: Lanes): FairWeights {
  const row = (): true => true
  return {
    fairWeights: ({ queue }) =>
      ask(lanes, {
        statement: LIST,
        values: [queue],
        row: ([key, weight]) => ({ queue, key: key as string, weight: Number(weight) }),
      }),
    putFairWeight: async ({ queue, key, weight }) =>
      (await askOne(lanes, { statement: PUT, values: [queue, key, String(weight)], row })) ?? false,
    removeFairWeight: async ({ queue, key }) =>
      (await askOne(lanes, { statement: REMOVE, values: [queue, key], row })) ?? false,
  }
}
