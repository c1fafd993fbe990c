/** Items of a list as they are kept: in chunks, since whoever reads one item reads its chunk. */
import type { Json } from '../../../net/net.ts'

const ITEMS_PER_CHUNK = 500
/** Large items make small chunks: a list of 100,000 reads one for every item that ends. */
const CHARACTERS_PER_CHUNK = 65_536

export interface Chunk {
  readonly first: number
  readonly text: string
}

export function chunksOf(values: readonly Json[]): readonly Chunk[] {
  const chunks: Chunk[] = []
  let texts: string[] = []
  let length = 0
  const close = (next: number): void => {
    if (texts.length > 0) chunks.push({ first: next - texts.length, text: `[${texts.join(',')}]` })
    texts = []
    length = 0
  }
  for (const [i, value] of values.entries()) {
    const text = JSON.stringify(value)
    if (texts.length === ITEMS_PER_CHUNK || (texts.length > 0 && length + text.length > CHARACTERS_PER_CHUNK)) close(i)
    texts.push(text)
    length += text.length
  }
  close(values.length)
  return chunks
}
