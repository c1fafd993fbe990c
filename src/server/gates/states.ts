/** Where a gate can stand. */
export const GATE_STATES: readonly string[] = ['open', 'approved', 'rejected', 'closed']
