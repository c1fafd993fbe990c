import { operation } from './operation.ts'

/** The time of the store's clock, which all processes share. Not secret, and part of answers for every scope. */
export const storeTime = operation('none', ({ engine }, _: null): Promise<number> => engine.queries.now())
