/** docs/ojs.md: its table of errors matches the server's. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { OJS_WORDS } from '../../src/http/ojs-words.ts'
import { ERRORS, type ErrorCode } from '../../src/kernel/errors.ts'
import { root } from '../cli/petrel.ts'

const page = readFileSync(join(root, 'docs/ojs.md'), 'utf8')

describe('docs/ojs.md', () => {
  it('lists every error of /ojs with its status', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| (\d{3}) \|/gm)].map(([, code, status]) => [code, Number(status)])
    const served = Object.entries(ERRORS)
      .filter(([code]) => OJS_WORDS[code as ErrorCode] === undefined)
      // Words of /v1, and one kind of invalid_request.
      .filter(([code]) => code !== 'validation_error')
      .map(([code, { status }]) => [code, status])
    expect(rows.sort()).toEqual(served.sort())
  })

  it('it and the pages around it link only to files that exist', () => {
    const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
    for (const name of pages) {
      const text = readFileSync(join(root, 'docs', name), 'utf8')
      for (const [, target] of text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
        expect([name, target, existsSync(join(root, 'docs', target as string))]).toEqual([name, target, true])
      }
    }
  })
})
