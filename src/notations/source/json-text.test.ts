import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Path } from '../../kernel/reading/mistakes.ts'
import { readJson } from './json-text.ts'
import { readSource } from './source.ts'

/** Every path into a value, and one beyond each end. */
function pathsOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path, [...path, 'beyond']]
  const keys = Array.isArray(value) ? [...value.keys(), value.length] : [...Object.keys(value), 'no such key']
  return [path, ...keys.flatMap((key) => pathsOf((value as Record<string | number, unknown>)[key], [...path, key]))]
}

const words = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom('a"b', '\\', '\\"', 'ä\n', '{', ']', ',:'))
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(words, fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(words, tie('tree'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))

describe('JSON', () => {
  it('has the same value and the same positions as the YAML that it also is', () => {
    fc.assert(
      fc.property(fc.array(tree, { minLength: 1, maxLength: 3 }), fc.constantFrom(0, 2, 4), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        const json = readJson(text)
        expect(json?.value).toEqual(value)
        const own = readSource('own.json', text)
        // A comment first: only the YAML reader accepts it.
        const yaml = readSource('yaml.yaml', `# YAML\n${text}`)
        expect(own.value).toEqual(yaml.value)
        for (const path of pathsOf(value)) {
          for (const onKey of [false, true]) {
            const { line, column } = yaml.locate(path, onKey)
            expect([path, onKey, own.locate(path, onKey)]).toEqual([path, onKey, { line: line - 1, column }])
          }
        }
      }),
      { numRuns: 200 },
    )
  })

  it.each([
    ['a key twice', '{ "a": 1, "a": 2 }'],
    ['a duplicate key in different spelling', '{ "a": 1, "\\u0061": 2 }'],
    ['a comma too many', '[1,]'],
    ['YAML', '{ a: 1 }'],
    ['a text', '"a"'],
    ['nothing', ''],
    ['a depth beyond reason', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
  ])('%s is passed to the other reader', (_, text) => {
    expect(readJson(text)).toBeNull()
  })

  it('of a workflow of ten thousand steps is read without delay', () => {
    const steps = Array.from({ length: 10_000 }, (_, i) => ({ name: `s${i}`, dependsOn: i === 0 ? [] : [`s${i - 1}`] }))
    const { locate } = readSource('big.json', JSON.stringify({ spec: { steps } }))
    expect(locate(['spec', 'steps', 9999, 'dependsOn', 0]).column).toBeGreaterThan(300_000)
  })
})
