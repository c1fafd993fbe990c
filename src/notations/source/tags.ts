/** Tags of a definition: its instances have them, and queries find the instances by them. */
import { MAX_TAGS, MAX_TERM_LENGTH } from '../../kernel/limits.ts'
import type { Part } from '../../kernel/reading/part.ts'

const HINT = 'tags: [billing, eu]'

export function readTags(part: Part): readonly string[] {
  const items = part.items('tags')
  if (items.length > MAX_TAGS) part.wrong(`at most ${MAX_TAGS} tags, these are ${items.length}`, HINT)
  return items.flatMap((item) => {
    const tag = item.text('a tag')
    if (tag === null) return []
    if ([...tag].length <= MAX_TERM_LENGTH) return [tag]
    item.wrong(`a tag has at most ${MAX_TERM_LENGTH} characters, this has ${[...tag].length}`, HINT)
    return []
  })
}

/** Where a specification allows anything as tags: those that can be found. */
export function tagsAmong(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return []
  const texts = value.filter((tag): tag is string => typeof tag === 'string' && tag !== '')
  return [...new Set(texts.filter((tag) => [...tag].length <= MAX_TERM_LENGTH))].slice(0, MAX_TAGS)
}
