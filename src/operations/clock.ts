import { operation } from './operation.ts'

/** The time by the store's clock, which all processes share. No secret, and part of answers of every scope. */
export const storeTime = operation('none', ({ engine }, _: null): Promise<number> => engine.queries.now())
