/** Invariants. */
export class LawBroken extends Error {}

export function law(holds: boolean, message: string): asserts holds {
  if (!holds) throw new LawBroken(message)
}
