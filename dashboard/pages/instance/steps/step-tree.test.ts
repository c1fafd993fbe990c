import { describe, expect, it } from 'vitest'
import type { Step, StepPage } from './read.ts'
import { rowsOf, type StepSource, StepTree } from './step-tree.ts'

const PAGE = 3
const ANY = { text: '', state: '' }
const never = new AbortController().signal

/** An instance of `count` steps, of which some change; a step `nested` has the child `c`. */
class Served implements StepSource {
  readonly read: string[] = []
  readonly states = new Map<string, string>()
  changed: string[] = []
  seq = 10
  readonly #count: number

  constructor(count: number) {
    this.#count = count
  }

  async page(id: string, after: string | null): Promise<StepPage> {
    this.read.push(`${id} after ${after}`)
    const names = Array.from({ length: this.#count }, (_, n) => `${id}${n}`)
    const from = after === null ? 0 : names.indexOf(after) + 1
    const shown = names.slice(from, from + PAGE)
    const next = from + PAGE < names.length ? (shown.at(-1) ?? null) : null
    return { steps: shown.map((name) => this.#step(name)), total: this.#count, next }
  }

  async changes(_: string, since: number | null) {
    return { seq: this.seq, names: since === null ? [] : this.changed }
  }

  #step(name: string): Step {
    const state = this.states.get(name) ?? 'pending'
    return { name, state, type: 'work', child_id: name === 'r1' ? 'c' : null } as Step
  }
}

describe('the steps of an instance', () => {
  it('are read by the page, and only pages with changes again', async () => {
    const served = new Served(8)
    const tree = new StepTree('r', served)
    const first = await tree.read(never)
    expect(first.get('r')).toMatchObject({ total: 8, hasMore: true })
    tree.more('r')
    await tree.read(never)
    expect(served.read).toEqual(['r after null', 'r after r2'])

    served.changed = ['r4', 'r7']
    served.states.set('r4', 'completed')
    const again = await tree.read(never)
    expect(served.read.slice(2)).toEqual(['r after r2'])
    expect(again.get('r')?.steps.map(({ state }) => state)).toEqual([
      'pending',
      'pending',
      'pending',
      'pending',
      'completed',
      'pending',
    ])
  })

  it('are followed by those of a nested instance that is open', async () => {
    const tree = new StepTree('r', new Served(4))
    tree.toggle('c')
    const rows = rowsOf(await tree.read(never), 'r', ANY)
    expect(rows.map((row) => [row.depth, row.kind === 'step' ? row.step.name : row.left])).toEqual([
      [0, 'r0'],
      [0, 'r1'],
      [1, 'c0'],
      [1, 'c1'],
      [1, 'c2'],
      [1, 1],
      [0, 'r2'],
    ])
    tree.toggle('c')
    expect(rowsOf(await tree.read(never), 'r', ANY).map((row) => row.kind === 'step' && row.isOpen)).toEqual([
      null,
      false,
      null,
    ])
  })

  it('are found by name and state', async () => {
    const served = new Served(3)
    served.states.set('r0', 'completed').set('r2', 'failed')
    const forest = await new StepTree('r', served).read(never)
    const names = (text: string, state: string): readonly string[] =>
      rowsOf(forest, 'r', { text, state }).map(({ key }) => key)
    expect([names('R1', ''), names('', 'failed'), names('work', 'unfinished'), names('x', '')]).toEqual([
      ['r r1'],
      ['r r2'],
      ['r r1', 'r r2'],
      [],
    ])
  })
})
