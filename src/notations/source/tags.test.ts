import { describe, expect, it } from 'vitest'
import { BodyNotes } from '../../kernel/reading/part.ts'
import { readTags, tagsAmong } from './tags.ts'

function read(value: unknown): { readonly tags: readonly string[]; readonly mistakes: readonly string[] } {
  const notes = new BodyNotes()
  const tags = readTags(notes.root({ tags: value }).get('tags'))
  return { tags, mistakes: notes.mistakes.map(({ message }) => message) }
}

describe('tags of a definition', () => {
  it('are a list of texts', () => {
    expect(read(['eu', 'billing'])).toEqual({ tags: ['eu', 'billing'], mistakes: [] })
    expect(read(undefined)).toEqual({ tags: [], mistakes: [] })
    expect(read('eu').mistakes).toEqual([expect.stringContaining('tags must be a list')])
    expect(read(['eu', 7, ''])).toMatchObject({ tags: ['eu'], mistakes: [expect.any(String), expect.any(String)] })
    expect(read(['x'.repeat(201)]).mistakes).toEqual(['a tag has at most 200 characters, this has 201'])
    expect(read(Array.from({ length: 21 }, (_, i) => `t${i}`)).mistakes).toEqual(['at most 20 tags, these are 21'])
  })

  it('where anything is allowed, are what can be found of it', () => {
    expect(tagsAmong(['eu', 7, '', 'eu', 'x'.repeat(201), 'us'])).toEqual(['eu', 'us'])
    expect(tagsAmong('eu')).toEqual([])
    expect(tagsAmong(Array.from({ length: 30 }, (_, i) => `t${i}`))).toHaveLength(20)
  })
})
