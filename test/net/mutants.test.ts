/**
 * Verifies the property test: each mutant is src/net with one line made wrong in a way an author could have written it;
 * the property test must notice within the given number of cases.
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
    file: 'firing/phases.ts',
    right: 'd.topSlot(SLOT.undo.prefix)',
    wrong: '(d.slotsWith(SLOT.undo.prefix)[0] ?? null)',
  },
  {
    name: 'a count join fires one token early',
    file: 'firing/tokens.ts',
    right: 'arrived >= (d.net.inDegree.get(key) ?? 0)',
    wrong: 'arrived >= (d.net.inDegree.get(key) ?? 0) - 1',
  },
  {
    name: 'finals fire again after one of them failed',
    file: 'firing/phases.ts',
    right: 'if (d.m.open === 0) reachVerdict(d)',
    wrong: "if (d.m.open === 0) { if (outcome.kind === 'failed') enterFinal(d); else reachVerdict(d) }",
  },
  {
    name: 'a failure counts as handled when any arc was taken',
    file: 'firing/arcs.ts',
    right: 'taken.some((t) => t.arc.when !== null)',
    wrong: 'taken.length > 0',
  },
  {
    name: 'a success during drain is missing in the undo list',
    file: 'fire.ts',
    right: 'if (undoable && outcome.kept !== true) d.joinUndo(place)',
    wrong: "if (undoable && m.phase === 'forward') d.joinUndo(place)",
  },
  {
    name: 'a scope continues though no token arrived',
    file: 'firing/scopes.ts',
    right: "s.kind === 'fork' && s.arrived > 0",
    wrong: "s.kind === 'fork'",
  },
  {
    name: 'failFast forgets the items it did not issue',
    file: 'firing/each.ts',
    right: 'live: after.live - dropped',
    wrong: 'live: after.live',
  },
  {
    name: 'a late success is put on the undo list a second time',
    file: 'firing/resume.ts',
    right: "const listed = d.unknownPolicy(place.node) === 'undo' && !cancelled",
    wrong: 'const listed = false',
  },
  {
    name: "a node's policy for unknown work is ignored",
    file: 'firing/draft.ts',
    right: 'this.node(key).unknown ?? this.net.net.unknown',
    wrong: 'this.net.net.unknown',
  },
  {
    name: 'a roll-back is a mere cancel',
    file: 'fire.ts',
    right: "return drain(d, 'compensate', CANCELLED, null)",
    wrong: "return drain(d, 'cancel', CANCELLED, null)",
  },
  {
    name: 'an idle instance ends by a deadline that never ran',
    file: 'fire.ts',
    right: "new Set(['queue', 'patched', 'cancel', 'roll-back'])",
    wrong: "new Set(['queue', 'patched', 'cancel', 'roll-back', 'deadline'])",
  },
  {
    name: 'a cancel abandons the finals after an undo',
    file: 'firing/phases.ts',
    right: " && m.state !== 'compensating'",
    wrong: '',
  },
  {
    name: 'repeated work is repeated again without end',
    file: 'firing/reruns.ts',
    right: 'd.slot(SLOT.secondTry.key(place)) === null',
    wrong: "d.slot(SLOT.secondTry.key(place)) !== ''",
  },
  {
    name: 'an undecided appeal is forgotten when the instance drains',
    file: 'firing/reruns.ts',
    right: 'd.m.failed++',
    wrong: '',
  },
  {
    name: 'forbidden work is repeated by policy',
    file: 'firing/reruns.ts',
    right: "'validation', 'governance', 'cancelled'",
    wrong: "'validation', 'cancelled'",
  },
  {
    name: 'a rejected appeal goes back to work',
    file: 'fire.ts',
    right: '  if (approved) {',
    wrong: '  if (approved || rejection !== null) {',
  },
  {
    name: 'a list that tolerates failures fails',
    file: 'firing/each.ts',
    right: 'work.tolerant !== true',
    wrong: 'work.failFast !== true',
  },
  {
    name: 'the number of open items is forgotten if an expression determined it',
    file: 'firing/each.ts',
    right: '(max ?? null)',
    wrong: '(max === undefined ? max : null)',
  },
  {
    name: 'the outer of two joins waits for tokens that only the inner one has',
    file: 'firing/scopes.ts',
    right: 'live: innermost ? live : 1',
    wrong: 'live',
  },
  {
    name: 'a failure that an arc handles ends the instance at once',
    file: 'firing/arcs.ts',
    right: "return !handled && d.net.net.verdict.failedOn === 'first'",
    wrong: "return d.net.net.verdict.failedOn === 'first'",
  },
  {
    name: 'a node that was skipped writes its set',
    file: 'firing/arcs.ts',
    right: "if (status === 'succeeded' && node.set !== undefined)",
    wrong: "if (status !== 'failed' && node.set !== undefined)",
  },
  {
    name: 'an arc sees the result of the latest firing, not of its own',
    file: 'firing/guards.ts',
    right: "return found({ fact: 'result', node: key, fire }, d.result(key, fire), missing)",
    wrong: "return found({ fact: 'result', node: key }, d.result(key), missing)",
  },
  {
    name: 'entries of a worker are lost when a guard cannot be evaluated',
    file: 'fire.ts',
    right: "if (happening.kind === 'ended') record(d, happening.place, happening.outcome)",
    wrong: '',
  },
  {
    name: 'a value that looks like a reference is resolved',
    file: 'references.ts',
    right: 'shares ? null : markIn(value)',
    wrong: 'null',
  },
  {
    name: 'a final does not wait for the results it names, after a guard that failed',
    file: 'fire.ts',
    right: 'if (d.lacking.length > 0) return { missing: d.lacking, ahead: null }\n  } catch (second)',
    wrong: '} catch (second)',
  },
  {
    name: 'the summary does not count discarded tokens',
    file: 'firing/tokens.ts',
    right: 'noteBranch(d)\n    return endToken(d, scope)',
    wrong: 'return endToken(d, scope)',
  },
  {
    name: 'earlier entries of the undo list come before new ones',
    file: 'firing/draft.ts',
    right: 'top.key > stored.key',
    wrong: 'top.key < stored.key',
  },
]

/** The same cases for the copy without a mutation: the original passes the cases that catch a mutant. */
const CASES = 3_000
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
