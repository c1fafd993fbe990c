import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EngineKey, scopedName, storedKey, unscopedName } from './scoped-names.ts'

const name = fc.oneof(
  fc.string({ minLength: 1, unit: 'grapheme' }),
  fc.constantFrom('@', '/', '@/k', '@a/k', 'petrel:cron:x:1', 'ojs::k', '@/petrel:cron:x:1', '@%2F/k'),
)
const tenant = fc.option(fc.constantFrom('a', 'b', 'a/b', '@a', 'a:b', '%2F', '.'))

describe('names of callers', () => {
  it('two callers have the same stored name only if tenant and name are the same', () => {
    fc.assert(
      fc.property(name, tenant, name, tenant, (n1, t1, n2, t2) => {
        expect(scopedName(n1, t1) === scopedName(n2, t2)).toBe(n1 === n2 && t1 === t2)
      }),
      { numRuns: 2000 },
    )
  })

  it('are returned as they were written', () => {
    fc.assert(fc.property(name, tenant, (n, t) => void expect(unscopedName(scopedName(n, t))).toBe(n)))
    expect(unscopedName(null)).toBeNull()
  })

  it('are never read as a name of the engine', () => {
    fc.assert(
      fc.property(name, tenant, (n, t) => void expect(scopedName(n, t)).not.toMatch(/^(?:petrel|ojs|schedule):/)),
    )
    expect(storedKey(new EngineKey('petrel:cron:x:1'), 'a')).toBe('petrel:cron:x:1')
    expect(storedKey('petrel:cron:x:1', undefined)).toBe('@/petrel:cron:x:1')
    expect(storedKey('k', undefined)).toBe('k')
    expect(storedKey(undefined, 'a')).toBeNull()
  })
})
