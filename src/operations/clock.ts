import { operation } from './operation.ts'

/** The time by the store's clock, which all processes share. */
export const storeTime = operation({ scope: 'read' }, ({ engine }, _: null): Promise<number> => engine.queries.now())
