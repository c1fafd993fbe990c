/** docs/operate/search.md lists exactly the filters that exist, and the limits in force. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import * as limits from '../../src/kernel/limits.ts'
import { type Fields, INSTANCE_FIELDS, RUN_FIELDS } from '../../src/model/search/fields.ts'
import { root } from '../cli/petrel.ts'

const page = readFileSync(join(root, 'docs/operate/search.md'), 'utf8')

function section(title: string): string {
  const [, rest = ''] = page.split(`\n## ${title}\n`)
  return rest.split('\n## ')[0] as string
}

describe('docs/operate/search.md', () => {
  it.each<[string, Fields]>([
    ['Filters for instances', INSTANCE_FIELDS],
    ['Filters for runs', RUN_FIELDS],
  ])('%s: has each filter, with its words and its index or limit', (title, { rules, members }) => {
    const rows = section(title).match(/^\| `.*$/gm) ?? []
    const cells = rows.map((row) => row.slice(2, -2).split(' | '))
    const named = cells.map(([filter = '']) => filter.replaceAll('`', '').replace(/:$/, ''))
    expect(named.toSorted()).toEqual([...Object.keys(rules), ...members.map((member) => `${member}.NAME`)].toSorted())
    for (const [filter = '', finds = '', bound = ''] of cells) {
      expect([filter, bound]).toEqual([filter, expect.stringMatching(/index|checked, 10,000 rows on a page/)])
      const rule = rules[filter.replaceAll('`', '').replace(/:$/, '')]
      for (const word of rule?.kind === 'text' ? (rule.words ?? []) : []) expect(finds).toContain(word)
    }
  })

  it('has the limits', () => {
    const text = page.replaceAll(',', '')
    expect(text).toContain(`${limits.MAX_QUERY_LENGTH} characters ${limits.MAX_QUERY_FILTERS} filters`)
    expect(text).toContain(`${limits.MAX_QUERY_VALUES} values in a filter`)
    expect(text).toContain(`at most ${limits.MAX_SEARCHED} rows`)
    expect(text).toContain(`| tags | ${limits.MAX_TAGS} of an instance or run each of 1 to ${limits.MAX_TERM_LENGTH}`)
    expect(text).toContain(`the first ${limits.MAX_TERM_MEMBERS} of each`)
    expect(text).toContain(`its first ${limits.MAX_FAILURES_FOUND} failures`)
  })
})
