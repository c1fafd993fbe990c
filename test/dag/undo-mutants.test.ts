/**
 * Verifies the property test: each mutant is src with one line made wrong in a way an author could have written it; the
 * property test must notice within the given number of cases.
 */
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import type { Implementation } from './simulated-process.ts'
import { STORES } from './stores.ts'
import { type CasesResult, runCases } from './undo-cases.ts'

interface Mutant {
  readonly name: string
  readonly file: string
  /** Must occur exactly once: a mutant that does not apply proves nothing. */
  readonly right: string
  readonly wrong: string
}

const MUTANTS: readonly Mutant[] = [
  {
    name: 'the first completed is undone first',
    file: 'net/firing/phases.ts',
    right: 'd.topSlot(SLOT.undo.prefix)',
    wrong: '(d.slotsWith(SLOT.undo.prefix)[0] ?? null)',
  },
  {
    name: 'a late success is forgotten',
    file: 'engine/fold/run/outcomes.ts',
    right: "if (outcome.kind === 'succeeded') recordLateSuccess(",
    wrong: 'if (false) recordLateSuccess(',
  },
  {
    name: 'an undo stays on the list when it begins',
    file: 'net/firing/phases.ts',
    right: '  d.put(top.key, null)\n',
    wrong: '',
  },
  {
    name: 'a run returned in the transaction that begins a drain stays pending',
    file: 'engine/fold/facts.ts',
    right: "run.status === 'pending' && !known.has(run.id)",
    wrong: 'known.has(run.id)',
  },
  {
    name: 'the undo of a late success does not receive its result',
    file: 'net/fire.ts',
    right: 'd.joinUndo(place, result)',
    wrong: 'd.joinUndo(place)',
  },
  {
    name: 'a step that succeeds in parallel with a failure is not undone',
    file: 'net/fire.ts',
    right: 'if (undoable) d.joinUndo(place)',
    wrong: "if (undoable && m.phase === 'forward') d.joinUndo(place)",
  },
  {
    name: 'abort undoes as well',
    file: 'net/firing/phases.ts',
    right: "return d.m.reason === 'compensate' ||",
    wrong: "return d.m.reason === 'compensate' || d.m.reason === 'failure' ||",
  },
  {
    name: 'the undo does not wait for steps parallel to the failure',
    file: 'net/firing/phases.ts',
    right: "if (m.phase !== 'drain' || m.open > 0 || m.more) return",
    wrong: "if (m.phase !== 'drain' || m.more) return",
  },
  {
    name: 'the next undo begins though the last one failed',
    file: 'net/firing/phases.ts',
    right: "  if (outcome.kind === 'succeeded') nextUndo(d)",
    wrong: '  if (outcome.kind) nextUndo(d)',
  },
  {
    name: 'of outcomes reported together the last is recorded first',
    file: 'engine/transaction/settle.ts',
    right: 'for (const entry of entries) {\n      if (!locked',
    wrong: 'for (const entry of [...entries].reverse()) {\n      if (!locked',
  },
  {
    name: 'outcomes of one transaction share a number',
    file: 'engine/fold/run/changed-runs.ts',
    right: 'member === null ? null : member.seq + 1)',
    wrong: 'member === null ? null : member.row.eventSeq + 1)',
  },
]

const full = process.env['PETREL_TEST_FULL'] === '1'
/** The same cases for the copy without a mutation: the original passes the cases that catch a mutant. */
const CASES = { count: 400, seed: 4_711, shrink: false }
const tried = full ? MUTANTS : MUTANTS.slice(0, 3)
const folder = fileURLToPath(new URL(`../../.test/undo-mutants-${process.pid}/`, import.meta.url))
const source = fileURLToPath(new URL('../../src/', import.meta.url))
const [sqlite] = STORES

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
  const load = (file: string): Promise<Implementation> =>
    import(/* @vite-ignore */ pathToFileURL(`${copy}${file}`).href) as Promise<Implementation>
  const [{ Engine }, { openStore }, { readDefinition }] = await Promise.all([
    load('engine/engine.ts'),
    load('store/open.ts'),
    load('operations/definitions/read.ts'),
  ])
  return { Engine, openStore, readDefinition }
}

async function play(from: Implementation, count = CASES.count): Promise<CasesResult> {
  const { url, drop } = await (sqlite as (typeof STORES)[number]).open()
  try {
    return await runCases(from, url, { ...CASES, count })
  } finally {
    await drop()
  }
}

const timeout = 240_000
let furthest = 1

for (const [i, mutant] of tried.entries()) {
  test(`caught: ${mutant.name}`, { timeout }, async () => {
    const { failure, played } = await play(await plant(`m${i}`, mutant))
    expect(failure, `${CASES.count} cases did not notice that ${mutant.name}`).not.toBeNull()
    furthest = Math.max(furthest, played)
    console.log(`${mutant.name}: caught in case ${played}: ${failure?.split('\n')[0]?.slice(0, 160)}`)
  })
}

test('a copy without a mutation passes as many cases as the longest of these took', { timeout }, async () => {
  const { failure } = await play(await plant('none', null), furthest)
  expect(failure ?? '').toBe('')
})
