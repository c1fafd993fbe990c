/**
 * Does the property test see anything? Each mutant is src/net with one line made wrong in a way an author could have written
 * it; the property test must notice within the given number of cases.
 */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { runCases } from './cases.ts'
import type { Implementation } from './world.ts'

interface Mutant {
  readonly name: string
  readonly file: string
  /** Must occur exactly once: a mutant that does not apply proves nothing. */
  readonly right: string
  readonly wrong: string
}

const MUTANTS: readonly Mutant[] = [
  {
    name: 'undo takes the oldest work first',
    file: 'phases.ts',
    right: "d.topSlot('u:')",
    wrong: "(d.slotsWith('u:')[0] ?? null)",
  },
  {
    name: 'a count join fires one token early',
    file: 'tokens.ts',
    right: 'arrived >= (d.net.inDegree.get(key) ?? 0)',
    wrong: 'arrived >= (d.net.inDegree.get(key) ?? 0) - 1',
  },
  {
    name: 'finals fire again after one of them failed',
    file: 'phases.ts',
    right: 'if (d.m.open === 0) reachVerdict(d)',
    wrong: "if (d.m.open === 0) { if (outcome.kind === 'failed') enterFinal(d); else reachVerdict(d) }",
  },
  {
    name: 'a failure counts as handled when any arc was taken',
    file: 'tokens.ts',
    right: '!taken.some((t) => t.arc.when !== null)',
    wrong: 'taken.length === 0',
  },
  {
    name: 'what succeeds during drain is left out of the undo list',
    file: 'fire.ts',
    right: 'if (undoable) d.joinUndo(place)',
    wrong: "if (undoable && m.phase === 'forward') d.joinUndo(place)",
  },
  {
    name: 'a scope goes on to its continuation though nothing arrived there',
    file: 'tokens.ts',
    right: "s.kind === 'fork' && s.arrived > 0",
    wrong: "s.kind === 'fork'",
  },
  {
    name: 'failFast forgets the items it did not issue',
    file: 'tokens.ts',
    right: 'after.live -= after.total - after.next',
    wrong: 'after.live -= 0',
  },
  {
    name: 'a late success is put on the undo list a second time',
    file: 'fire.ts',
    right: "if (d.m.phase === 'ended' || d.net.net.unknown === 'undo') return",
    wrong: "if (d.m.phase === 'ended') return",
  },
  {
    name: 'an idle instance ends by a deadline that never ran',
    file: 'fire.ts',
    right: "new Set(['queue', 'patched', 'cancel'])",
    wrong: "new Set(['queue', 'patched', 'cancel', 'deadline'])",
  },
  {
    name: 'a cancel abandons the finals of what was undone',
    file: 'phases.ts',
    right: " && m.state !== 'compensating'",
    wrong: '',
  },
  {
    name: 'what is done once more is done again and again',
    file: 'reruns.ts',
    right: 'd.slot(secondTime(place)) === null',
    wrong: "d.slot(secondTime(place)) !== ''",
  },
  {
    name: 'an appeal nobody decided is forgotten when the instance drains',
    file: 'reruns.ts',
    right: 'd.m.failed++',
    wrong: '',
  },
  {
    name: 'what governance forbade is done once more by policy',
    file: 'reruns.ts',
    right: "'validation', 'governance', 'cancelled'",
    wrong: "'validation', 'cancelled'",
  },
  {
    name: 'a rejected appeal goes back to work',
    file: 'fire.ts',
    right: '  if (approved) {',
    wrong: '  if (approved || rejection !== null) {',
  },
]

/** The same cases for the copy without a mutation: what a mutant is caught by, the original passes. */
const CASES = 1_000
const SEED = 4_711
const folder = fileURLToPath(new URL(`../../.test/mutants-${process.pid}/`, import.meta.url))
const source = fileURLToPath(new URL('../../src/net/', import.meta.url))

afterAll(() => rm(folder, { recursive: true, force: true }))

async function plant(id: string, mutant: Mutant | null): Promise<Implementation> {
  const copy = `${folder}${id}/`
  await mkdir(copy, { recursive: true })
  await cp(source, copy, { recursive: true, filter: (path) => !path.endsWith('.test.ts') })
  if (mutant !== null) {
    const text = await readFile(`${copy}${mutant.file}`, 'utf8')
    const parts = text.split(mutant.right)
    expect(parts.length - 1, `'${mutant.right}' must stand once in ${mutant.file}`).toBe(1)
    await writeFile(`${copy}${mutant.file}`, parts.join(mutant.wrong))
  }
  return (await import(/* @vite-ignore */ pathToFileURL(`${copy}index.ts`).href)) as Implementation
}

test('a copy without a mutation passes', { timeout: 60_000 }, async () => {
  const { failure } = runCases(await plant('none', null), { count: CASES, seed: SEED, shrink: false })
  expect(failure ?? '').toBe('')
})

for (const [i, mutant] of MUTANTS.entries()) {
  test(`caught: ${mutant.name}`, { timeout: 120_000 }, async () => {
    const { failure, played } = runCases(await plant(`m${i}`, mutant), { count: CASES, seed: SEED, shrink: false })
    expect(failure, `${CASES} cases did not notice that ${mutant.name}`).not.toBeNull()
    console.log(`${mutant.name}: caught in case ${played}: ${failure?.split('\n')[0]?.slice(0, 160)}`)
  })
}
