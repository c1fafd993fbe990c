/** Running instances have these keys in databases: with a different key their slots would no longer be found. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { SLOT, SLOT_KINDS, slotValue } from './slots.ts'

const SRC = fileURLToPath(new URL('../', import.meta.url))
const DECLARATIONS = 'net/slots.ts'

const PLACE = { fire: 7, item: -1 }
const ITEM = { fire: 7, item: 2 }

const KEYS: { readonly [K in keyof typeof SLOT]: readonly (readonly [key: string, bytes: string])[] } = {
  input: [[SLOT.input.key, 'in']],
  about: [[SLOT.about.key, 'm']],
  literals: [[SLOT.literals.key(3), 'a:3']],
  givenItems: [[SLOT.givenItems.key('jobs'), 'n:jobs']],
  joinCount: [[SLOT.joinCount.key('ship'), 'j:ship']],
  scope: [
    [SLOT.scope.key(4), 's:4'],
    [SLOT.scope.at('4'), 's:4'],
    [SLOT.scope.at('1.12.9'), 's:9'],
  ],
  heldToken: [[SLOT.heldToken.key(12), 'h:0000000012']],
  tokenArgs: [[SLOT.tokenArgs.key(7), 't:7']],
  storedArgs: [[SLOT.storedArgs.key(7), 'x:7']],
  portions: [[SLOT.portions.key, 'q']],
  portion: [
    [SLOT.portion.key(0), 'q:0'],
    [SLOT.portion.key(-1), 'q:-1'],
  ],
  context: [[SLOT.context.key('a:b'), 'c:a:b']],
  result: [[SLOT.result.key('ship'), 'r:ship']],
  itemResult: [[SLOT.itemResult.key('jobs', 3), 'r:jobs/3']],
  closedList: [[SLOT.closedList.key('pages'), 'l:pages']],
  entries: [
    [SLOT.entries.key(PLACE), 'w:7'],
    [SLOT.entries.key(ITEM), 'w:7/2'],
  ],
  error: [[SLOT.error.key, 'e']],
  undoError: [[SLOT.undoError.key, 'eu']],
  partial: [[SLOT.partial.key, 'fp']],
  discarded: [[SLOT.discarded.key, 'b']],
  cancelledAt: [[SLOT.cancelledAt.key, 'x']],
  undo: [[SLOT.undo.key(3), 'u:0000000003']],
  undoAtHand: [[SLOT.undoAtHand.key, 'us']],
  doubt: [
    [SLOT.doubt.key(PLACE), 'd:7'],
    [SLOT.doubt.key(ITEM), 'd:7/2'],
  ],
  parked: [
    [SLOT.parked.key(PLACE), 'p:7'],
    [SLOT.parked.key(ITEM), 'p:7/2'],
  ],
  secondTry: [
    [SLOT.secondTry.key(PLACE), 'o:7'],
    [SLOT.secondTry.key(ITEM), 'o:7/2'],
  ],
  appeal: [[SLOT.appeal.key(9), 'g:9']],
  noted: [[SLOT.noted.key, 'y']],
  notedFailure: [[SLOT.notedFailure.key(0), 'ye:0000000000']],
  notedFirings: [[SLOT.notedFirings.key(1), 'yf:1']],
  detachedCount: [[SLOT.detachedCount.key('go'), 'k:go']],
  detachedChild: [[SLOT.detachedChild.key('go', 0), 'k:go/0']],
  matchedFirings: [[SLOT.matchedFirings.key('step'), 'v:step']],
  goingBack: [[SLOT.goingBack.key, 'from']],
  retriedRun: [[SLOT.retriedRun.key('an-id'), 'retried:an-id']],
}

describe('keys of slots', () => {
  it.each(Object.entries(KEYS))('%s', (_, keys) => {
    for (const [key, bytes] of keys) expect(key).toBe(bytes)
  })

  it('their patterns differ', () => {
    expect(new Set(SLOT_KINDS.map(({ pattern }) => pattern)).size).toBe(SLOT_KINDS.length)
  })

  it('the variable part can be parsed back', () => {
    expect(SLOT.context.nameIn(SLOT.context.key('a:b'))).toBe('a:b')
    expect(SLOT.heldToken.numberIn(SLOT.heldToken.key(12))).toBe(12)
    expect(SLOT.itemResult.key('jobs', 3).slice(SLOT.itemResult.prefixOf('jobs').length)).toBe('3')
    expect(['x:1', 'x:', 'x', 'x:1a', 'c:1'].filter((text) => SLOT.storedArgs.isKey(text))).toEqual(['x:1'])
  })

  it('a value is found among rows by its whole key', () => {
    const rows = [
      { key: 'eu', value: '{"code":"u","message":"undo"}' },
      { key: 'e', value: '{"code":"c","message":"why"}' },
    ]
    expect(slotValue(rows, SLOT.error.key)).toEqual({ code: 'c', message: 'why' })
    expect(slotValue(rows, SLOT.cancelledAt.key)).toBeNull()
  })
})

describe('the source', () => {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(ts|sql)$/.test(path) && !path.endsWith('.test.ts') && statSync(join(SRC, path)).isFile())
    .map((path) => ({ path, text: readFileSync(join(SRC, path), 'utf8') }))
  const code = files.filter(({ path }) => path.endsWith('.ts') && path !== DECLARATIONS)

  it('each kind is written where its declaration says', () => {
    const missing = SLOT_KINDS.flatMap(({ name, writers }) =>
      writers
        .filter((writer) => !code.some(({ path, text }) => path.startsWith(writer) && text.includes(`SLOT.${name}.`)))
        .map((writer) => `${name}: ${writer}`),
    )
    expect(missing).toEqual([])
  })

  it('no other file has the text of a key', () => {
    const starts = [...new Set(SLOT_KINDS.map(({ pattern }) => pattern.replace(/<.*/, '')))]
    const prefixes = starts.filter((start) => start.endsWith(':')).join('|')
    const whole = SLOT_KINDS.map(({ pattern }) => pattern)
      .filter((pattern) => !pattern.includes('<'))
      .join('|')
    const patterns = [
      // The beginning of a key, and the variable part: `j:${node}`, 'r:' || node, 'n:jobs'.
      new RegExp(`['"\`](?:${prefixes})[^\\s\\d'"\`]*['"\`]`),
      // A whole key where slots are read, written or requested.
      new RegExp(
        `(?:slot|put|slots\\.\\w+|slotsWith|topSlot|slotOf|putSlot|slotValue)\\([^)\n]*['"\`](?:${whole})['"\`]`,
      ),
      new RegExp(`(?:prefix|prefixes|keys): \\[?[^\\]\n]*['"\`](?:${whole})['"\`]`),
      new RegExp(`\\bkey === '(?:${whole})'`),
      new RegExp(`\\bkey = '(?:${whole})'|\\bkey IN \\('(?:${whole})'`),
    ]
    const found = code.flatMap(({ path, text }) =>
      text
        .split('\n')
        .filter((line) => !/^\s*(?:\*|\/\*|\/\/)/.test(line) && patterns.some((pattern) => pattern.test(line)))
        .map((line) => `${path}: ${line.trim()}`),
    )
    expect(found).toEqual([])
  })

  it('the views name only keys that are declared', () => {
    const declared = new Set(SLOT_KINDS.map(({ pattern }) => pattern))
    const named = files
      .filter(({ path, text }) => path.endsWith('.sql') && text.includes('workflow_slot'))
      .flatMap(({ text }) => [...text.matchAll(/\b[sm]\.key (?:=|IN) \(?((?:'[a-z]+'(?:, )?)+)/g)])
      .flatMap(([, keys = '']) => [...keys.matchAll(/'([a-z]+)'/g)].map(([, key]) => key as string))
    expect(named).toContain('in')
    expect(named.filter((key) => !declared.has(key))).toEqual([])
  })
})
