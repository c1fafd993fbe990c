/** For tests: empties the store. API keys stay. */
import { operation } from '../operation.ts'

export const resetStore = operation(
  { scope: 'admin', shared: true },
  async ({ engine, logger }, _: null): Promise<void> => {
    await engine.reset()
    logger?.info({ store: engine.storage.kind }, 'the store was reset')
  },
)
