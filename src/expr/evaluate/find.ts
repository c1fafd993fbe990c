/** Looks up a filter, test, function or method, and explains why a name has none. */

import { ExprError } from '../errors.ts'
import type { Table } from './callable.ts'

export type Kind = 'filter' | 'test' | 'function' | 'method'

export function find<T>(table: Table<T>, kind: Kind, name: string): T {
  const found = Object.hasOwn(table, name) ? table[name] : undefined
  if (found !== undefined) return found
  const why = whyRefused(kind, name)
  if (why !== null) throw new ExprError(`expr_unknown_${kind}`, `there is no ${kind} \`${name}\`: ${why}`)
  const known = Object.keys(table).sort()
  const near = nearest(name, known)
  const advice = near === null ? `use one of ${known.join(', ')}` : `did you mean \`${near}\`?`
  throw new ExprError(`expr_unknown_${kind}`, `there is no ${kind} \`${name.slice(0, 40)}\`: ${advice}`)
}

/** Features of Jinja2 or Python that this language does not have, and what to write instead. */
const NO_CHANGE = 'values are never changed'

const REFUSED: { readonly [kind in Kind]: { readonly [name: string]: string } } = {
  filter: {
    attr: 'only keys can be read: write `x.name` or `x[name]`',
    random: 'an evaluation gives the same value every time: draw in a step',
    pprint: 'use `| tojson(indent=2)`',
    forceescape: 'use `| escape`',
    striptags: 'work on HTML in a step',
    urlize: 'work on HTML in a step',
    xmlattr: 'work on HTML in a step',
    wordwrap: 'wrap text in a step',
  },
  test: {},
  function: {
    cycler: 'use an index and `%`',
    joiner: 'use `loop.first` or `| join`',
    lipsum: 'write the text out',
  },
  method: {
    append: `${NO_CHANGE}: use \`list + [item]\``,
    extend: `${NO_CHANGE}: use \`list + others\``,
    insert: `${NO_CHANGE}: put it together with \`+\` and slices`,
    remove: `${NO_CHANGE}: use \`| reject('eq', item)\``,
    pop: `${NO_CHANGE}: read the item with \`[…]\``,
    sort: `${NO_CHANGE}: use \`| sort\``,
    reverse: `${NO_CHANGE}: use \`| reverse\``,
    update: `${NO_CHANGE}: use \`dict(old, key=value)\``,
    setdefault: `${NO_CHANGE}: use \`dict(old, key=value)\``,
    clear: NO_CHANGE,
    format: 'use `%`, as in `"%s: %d" % (name, n)`, or `~`',
    format_map: 'use `%`, as in `"%(name)s" % {"name": name}`, or `~`',
    encode: 'there are no bytes: use `| b64encode`',
    cycle: 'use `loop.index0 % n`',
  },
}

function whyRefused(kind: Kind, name: string): string | null {
  const reasons = REFUSED[kind]
  return Object.hasOwn(reasons, name) ? (reasons[name] ?? null) : null
}

/** The known word most similar to a mistyped one; null: none is close. */
function nearest(word: string, known: readonly string[]): string | null {
  const limit = Math.max(1, Math.floor(word.length / 3))
  let best: string | null = null
  let least = limit + 1
  if (word.length > 40) return null
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) >= least) continue
    const steps = distance(word, candidate)
    if (steps < least) [best, least] = [candidate, steps]
  }
  return best
}

/** Letters to insert, remove or replace. */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_none, at) => at)
  for (let i = 1; i <= left.length; i++) {
    const next = [i]
    for (let j = 1; j <= right.length; j++) {
      const replaced = (row[j - 1] as number) + (left[i - 1] === right[j - 1] ? 0 : 1)
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, replaced))
    }
    row = next
  }
  return row[right.length] as number
}
