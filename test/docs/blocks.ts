/** Pages whose commands are run: blocks after `<!-- run -->`, each followed by its expected output. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'vitest'

interface Block {
  readonly code: string
  readonly printed: string
}

function blocksOf(page: string): readonly Block[] {
  const found = [...page.matchAll(/<!-- run -->\n```sh\n([\s\S]*?)\n```\n\n```text\n([\s\S]*?)\n```/g)]
  return found.map(([, code, printed]) => ({ code: code as string, printed: printed as string }))
}

/** `…` matches anything within its line. */
function pattern(printed: string): RegExp {
  const escaped = printed.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace(/…/g, '[^\\n]*')
  return new RegExp(`^${escaped}$`)
}

/** Runs every block of a page in one shell (later ones use what earlier ones defined) and compares the output. */
export async function runPage(
  page: string,
  params: {
    readonly replace: Readonly<Record<string, string>>
    readonly env?: NodeJS.ProcessEnv
    readonly cwd?: string
  },
): Promise<void> {
  const blocks = blocksOf(page)
  expect(blocks).toHaveLength(page.match(/<!-- run -->/g)?.length ?? 0)
  expect(blocks.length).toBeGreaterThan(5)
  let script = ['set -euo pipefail', ...blocks.map(({ code }) => `${code}\necho @@@`)].join('\n')
  for (const [text, by] of Object.entries(params.replace)) script = script.replaceAll(text, by)
  const { stdout } = await promisify(execFile)('bash', ['-c', script], {
    env: { ...process.env, ...params.env },
    cwd: params.cwd,
  })
  const printed = stdout.split('@@@\n')
  for (const [n, block] of blocks.entries()) expect(printed[n]?.trim()).toMatch(pattern(block.printed))
}
