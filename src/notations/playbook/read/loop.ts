/** `loop` of a step: its list, the name of an item, and how many items run at a time. */

import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import type { Json } from '../../../net/net.ts'
import type { Loop } from './playbook.ts'
import type { Forbidden, Reading } from './reading.ts'

const FIELDS = ['in', 'iterator', 'spec', 'desc']
const SPEC = ['mode', 'max_in_flight', 'policy', 'frame']
const TAKEN = [
  'ctx',
  'workload',
  'input',
  'args',
  'event',
  'results',
  'iter',
  'loop',
  'step',
  'output',
  'outcome',
  'keychain',
]
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/
const FORBIDDEN: Forbidden = {
  cursor: 'a step that reads the rows, and a loop over them',
  collection: 'in: "{{ … }}"',
  items: 'in: "{{ … }}"',
  element: 'iterator: item',
  item: 'iterator: item',
}

export function readLoop(part: Part, reading: Reading): Loop | null {
  if (!part.given) return null
  if (!reading.fields(part, [...FIELDS, 'mode', 'max_in_flight'], 'a loop', FORBIDDEN)) return null
  const spec = part.get('spec')
  if (spec.given) reading.fields(spec, SPEC, 'spec of a loop')
  readHint(spec.get('policy'), reading)
  const iterator = part.get('iterator')
  if (!iterator.given && !part.has('element') && !part.has('item')) {
    part.wrong('a loop needs a name for its items', 'iterator: item')
  }
  const name = iterator.text('iterator')
  if (name !== null && !NAME.test(name)) {
    iterator.wrong(`${kindOf(name)} cannot be the name of an item`, 'letters, digits and _, no digit first')
  } else if (name !== null && TAKEN.includes(name)) {
    iterator.wrong(`'${name}' means something else in templates: it cannot be the name of an item`, 'iterator: item')
  }
  reading.idle(spec.get('frame'), 'items are runs of their own', 'max_in_flight')
  const mode = optionOf(part, spec, 'mode', reading)
  const word = mode.value === 'cursor' ? null : mode.choice('mode', ['sequential', 'parallel'])
  if (mode.value === 'cursor' && !part.has('cursor'))
    mode.wrong('loops over a cursor are not supported', FORBIDDEN['cursor'] as string)
  const most = optionOf(part, spec, 'max_in_flight', reading)
  const maxInFlight = readMost(most)
  if (word !== 'parallel' && mode.value !== 'cursor' && maxInFlight !== 1) {
    reading.idle(most, 'the loop is sequential', 'mode: parallel')
  }
  return {
    ...readIn(part, reading),
    iterator: name ?? 'item',
    maxInFlight: word === 'parallel' ? maxInFlight : 1,
    path: part.path,
  }
}

/** Where items run is decided by queues and workers: the notation's field for it is a hint without effect. */
function readHint(policy: Part, reading: Reading): void {
  if (!policy.given) return
  const failure = 'spec: { policy: { failure: { mode: … } } } of the step'
  if (reading.fields(policy, ['exec'], 'policy of a loop', { failure }))
    policy.get('exec').choice('exec', ['local', 'distributed'])
}

/** Under `spec`, or against the rules beside it. */
function optionOf(part: Part, spec: Part, name: string, reading: Reading): Part {
  const outside = part.get(name)
  if (outside.given) reading.lenient(outside.path, `'${name}' belongs under spec`, `spec: { ${name}: … }`, true)
  return spec.get(name).given ? spec.get(name) : outside
}

function readMost(part: Part): number | string | null {
  if (typeof part.value === 'string' && part.value.includes('{{')) return part.value
  return part.whole('max_in_flight', { least: 1, most: 1_000_000 })
}

function readIn(
  part: Part,
  reading: Reading,
): { readonly in: string | null; readonly literal: readonly Json[] | null } {
  const list = part.get('in')
  if (Array.isArray(list.value)) return { in: null, literal: list.json() as readonly Json[] }
  if (!list.given) {
    if (!part.has('cursor') && !part.has('collection') && !part.has('items')) {
      part.wrong('a loop needs a list', 'in: "{{ workload.items }}"')
    }
    return { in: null, literal: null }
  }
  if (typeof list.value !== 'string' || list.value.trim() === '') {
    list.wrong(`'in' must be a template or a list, not ${kindOf(list.value)}`, 'in: "{{ workload.items }}"')
    return { in: null, literal: null }
  }
  if (!list.value.includes('{{')) {
    reading.lenient(list.path, "'in' is a template and has no braces", `write "{{ ${list.value.trim()} }}"`)
  }
  return { in: list.value, literal: null }
}
