/** How much the keys of a queue weigh. */
import { MAX_FAIR_WEIGHTS } from '../../../kernel/limits.ts'
import type { Registry } from '../../../model/registry.ts'
import type { Connection } from '../connection.ts'

const LIST = 'SELECT key, weight FROM workflow_fair_weight WHERE queue = ? ORDER BY key'
const PUT = `INSERT INTO workflow_fair_weight (queue, key, weight) SELECT ?1, ?2, ?3
  WHERE (SELECT count(*) FROM workflow_fair_weight WHERE queue = ?1 AND key <> ?2) < ${MAX_FAIR_WEIGHTS}
  ON CONFLICT (queue, key) DO UPDATE SET weight = excluded.weight RETURNING key`
const REMOVE = 'DELETE FROM workflow_fair_weight WHERE queue = ? AND key = ? RETURNING key'

type FairWeights = Pick<Registry, 'fairWeights' | 'putFairWeight' | 'removeFairWeight'>

export function fairWeightsOn(connection: Connection): FairWeights {
  const written = (sql: string, ...values: (string | number)[]): Promise<boolean> =>
    connection.write(
      () => connection.statement(sql).get(...values) !== undefined,
      () => undefined,
    )
  return {
    fairWeights: ({ queue }) =>
      connection.read(() =>
        connection
          .statement(LIST)
          .all(queue)
          .map(([key, weight]) => ({ queue, key: key as string, weight: weight as number })),
      ),
    putFairWeight: ({ queue, key, weight }) => written(PUT, queue, key, weight),
    removeFairWeight: ({ queue, key }) => written(REMOVE, queue, key),
  }
}
