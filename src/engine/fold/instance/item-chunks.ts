/** Items of a list as they are stored: in chunks, each of which is read as a whole. */
import type { Json } from '../../../net/net.ts'
import type { Member, WorkingSet } from '../working-set.ts'

const ITEMS_PER_CHUNK = 500
/** Large items make small chunks, because a list reads one chunk for every item that ends. */
const CHARACTERS_PER_CHUNK = 65_536

interface Chunk {
  readonly first: number
  readonly text: string
}

function chunksOf(values: readonly Json[]): readonly Chunk[] {
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

/** Stores items for later portions of the list. */
export function freezeItems(
  change: Pick<WorkingSet, 'chunks'>,
  member: Member,
  node: string,
  fire: number,
  from: number,
  values: readonly Json[],
): void {
  for (const chunk of chunksOf(values)) {
    change.chunks.push({ instanceId: member.row.id, node, fire, first: from + chunk.first, values: chunk.text })
  }
}
