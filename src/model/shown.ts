/**
 * How much of stored values a read for display returns. A longer value stays in the database and is replaced by a marker with
 * its size, `{"$omitted":{"bytes":20971520}}`. The stores do this in SQL, so that a value of 20 MB that a client wrote by
 * plain SQL is only transferred when it is requested by its id.
 */

/** Most bytes of JSON in one page of a list, one view or one portion of events. */
export const PAGE_BYTES = 1024 * 1024
/** Most bytes of the data of one event. */
export const EVENT_BYTES = 256 * 1024

const MARKER = /^\{"\$omitted": ?\{"bytes": ?\d{1,15}\}\}$/

export function omitted(bytes: number): string {
  return `{"$omitted":{"bytes":${bytes}}}`
}

/** Whether a text that was read for display is a marker instead of the value. */
export function isOmitted(text: string | null): boolean {
  return text !== null && text.length < 60 && MARKER.test(text)
}

/** Shorter values are shown however long the page is already: a marker would be no shorter. */
export const ALWAYS_BYTES = 256

/** Most characters of a failure's message where only its message and code are shown. */
export const BRIEF_ERROR_CHARACTERS = 1_000

/** A failure up to this length is shown completely, wherever a step is shown with its failure. */
export const BRIEF_ERROR_BYTES = 4 * 1024

/** Most bytes of the template of a schedule in a list; the read of one schedule returns it completely. */
export const TEMPLATE_BYTES = 4 * 1024

/** Events of runs are read for a picture with all of their data up to this length, otherwise with their times and names alone. */
export const LEAN_DATA_BYTES = 2_000

/** Most bytes of the options, and of the votes, of a gate in a picture; longer ones are left out. */
export const LEAN_GATE_BYTES = 4 * 1024
