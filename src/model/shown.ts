/**
 * How much of stored values a read for showing brings along. What is longer stays in the database: in its place comes a
 * marker with its size, `{"$omitted":{"bytes":20971520}}`. The stores cut in SQL, so that a value of 20 MB that a client
 * wrote by plain SQL travels only when it is asked for by its id.
 */

/** Of one page of a list, one view or one portion of events, in bytes of JSON. */
export const PAGE_BYTES = 1024 * 1024
/** Of the data of one event. */
export const EVENT_BYTES = 256 * 1024

const MARKER = /^\{"\$omitted": ?\{"bytes": ?\d{1,15}\}\}$/

export function omitted(bytes: number): string {
  return `{"$omitted":{"bytes":${bytes}}}`
}

/** Whether a text read for showing is a marker instead of the value. */
export function isOmitted(text: string | null): boolean {
  return text !== null && text.length < 60 && MARKER.test(text)
}

/** Shown however long the page is already: a marker would be no shorter. */
export const ALWAYS_BYTES = 256

/** Of the same, where only that and its code is shown of it. */
export const BRIEF_ERROR_CHARACTERS = 1_000

/** A failure that is no longer is shown whole, wherever a step is shown with its failure. */
export const BRIEF_ERROR_BYTES = 4 * 1024

/** Of what one schedule creates, where many are listed; its own read has it whole. */
export const TEMPLATE_BYTES = 4 * 1024
