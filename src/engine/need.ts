/** How the parts of a fold ask for what was not loaded. */
import type { Need } from '../store/store.ts'

/** Thrown by anything that meets something not loaded; caught once per root. */
export class NeedMore extends Error {
  readonly need: Need
  constructor(need: Need) {
    super('need more')
    this.need = need
  }
}
