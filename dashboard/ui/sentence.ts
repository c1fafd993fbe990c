/** Sentences of the server about why something waits. */

const MOMENT = /\b(at|since) (\d{4}-\d\d-\d\dT[\d:.]+Z)/g
const LENGTH = /\b(\d+) ms\b/g

/** Times of a sentence as a person reads them, on the clock of this window. */
export function sentenceOf(text: string): string {
  return text
    .replace(MOMENT, (_, word: string, at: string) => `${word} ${new Date(at).toLocaleString()}`)
    .replace(LENGTH, (_, ms: string) => (Number(ms) < 1000 ? `${ms} ms` : `${Math.round(Number(ms) / 100) / 10} s`))
}
