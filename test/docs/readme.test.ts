import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The first block of a language after a marker. */
function blockAfter(text: string, marker: string, language: string): string {
  const from = text.indexOf(`\`\`\`${language}`, text.indexOf(marker))
  return text.slice(text.indexOf('\n', from) + 1, text.indexOf('\n```', from))
}

describe('the README', () => {
  it('shows an example that runs and prints the documented output', () => {
    const readme = readFileSync(join(root, 'README.md'), 'utf8')
    const code = blockAfter(readme, '<!-- run: readme-example -->', 'js')
    const printed = blockAfter(readme, '<!-- run: readme-example -->', 'text')
    spawnSync(process.execPath, [join(root, 'scripts/setup.mjs')], { stdio: 'inherit' })
    const petrel = pathToFileURL(join(root, 'dist/index.js')).href
    const folder = mkdtempSync(join(root, '.test-readme-'))
    try {
      const file = join(folder, 'example.mjs')
      writeFileSync(file, code.replace("from 'petrel'", `from '${petrel}'`))
      const run = spawnSync(process.execPath, [file], { encoding: 'utf8' })
      expect(run.stderr).toBe('')
      expect(run.stdout.trim()).toBe(printed.trim())
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it.each(['readme-steps', 'readme-playbook', 'readme-saga'])(
    'shows a file that --mock plays as documented: %s',
    (name) => {
      const readme = readFileSync(join(root, 'README.md'), 'utf8')
      const marker = `<!-- run: ${name} -->`
      const folder = mkdtempSync(join(tmpdir(), 'petrel-readme-'))
      try {
        const script = `petrel() { node '${join(root, 'bin/petrel')}' "$@"; }\n${blockAfter(readme, marker, 'sh')}`
        const run = spawnSync('bash', ['-c', script], { encoding: 'utf8', cwd: folder })
        expect(run.stdout.trim(), run.stderr).toBe(blockAfter(readme, marker, 'text').trim())
      } finally {
        rmSync(folder, { recursive: true })
      }
    },
  )

  it('links only to files that exist', () => {
    for (const page of ['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md']) {
      const text = readFileSync(join(root, page), 'utf8')
      for (const [, target] of text.matchAll(/\]\((?!https?:)([^)#]+)/g)) {
        expect(() => readFileSync(join(root, target as string)), `${page} → ${target}`).not.toThrow(/ENOENT/)
      }
    }
  })
})
