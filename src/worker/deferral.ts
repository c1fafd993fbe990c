/** The return value of a handler whose result comes later. */
import type { Command } from './port.ts'

export class Deferral {
  // Private, so that no other object has this type.
  readonly #command: Command | null

  constructor(command: Command | null) {
    this.#command = command
  }

  get command(): Command | null {
    return this.#command
  }
}
