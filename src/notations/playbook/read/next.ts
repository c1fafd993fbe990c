/** `next` of a step: the router and its arcs, in the older shapes too. */
import { kindOf, type Part } from '../../../kernel/reading/part.ts'
import { readWhen } from './guard.ts'
import type { Arc, Router } from './playbook.ts'
import { type Forbidden, type Reading, templatesOf } from './reading.ts'
import { readContextSet } from './sets.ts'

const FIELDS = ['spec', 'arcs']
const SPEC = ['mode', 'on_no_match', 'policy']
const ARC = ['step', 'when', 'args', 'input', 'set', 'set_ctx', 'spec', 'desc']
const FORBIDDEN: Forbidden = {
  cond: 'when: "{{ … }}"',
  condition: 'when: "{{ … }}"',
  if: 'when: "{{ … }}"',
  else: 'an arc without when, as the last one',
}

export function readNext(part: Part, reading: Reading): Router {
  const none: Router = { mode: 'exclusive', arcs: [], path: part.path }
  if (!part.given) return none
  if (typeof part.value === 'string') {
    reading.lenient(part.path, 'next has arcs; this is the name of a step', `next: { arcs: [{ step: ${part.value} }] }`)
    return { ...none, arcs: [bare(part)] }
  }
  if (Array.isArray(part.value)) return readList(part, reading)
  if (part.isObject && part.has('step') && !part.has('arcs')) {
    reading.lenient(part.path, 'next has arcs; this is one arc', 'next: { arcs: [{ step: … }] }')
    return { ...none, arcs: readArc(part, reading) }
  }
  if (!reading.fields(part, [...FIELDS, 'mode'], 'next')) return none
  const spec = part.get('spec')
  if (spec.given) reading.fields(spec, SPEC, 'spec of next')
  const outside = part.get('mode')
  if (outside.given) reading.lenient(outside.path, "'mode' belongs under spec", 'spec: { mode: … }', true)
  reading.idle(spec.get('on_no_match'), 'no match ends the branch', 'leave it out, or executor.spec.no_next_is_error')
  reading.idle(spec.get('policy'), 'guards and mode decide', 'leave it out')
  const arcs = part.get('arcs')
  if (!arcs.given) reading.lenient(part.path, 'next has no arcs', 'leave it out, or arcs: [{ step: … }]')
  return {
    mode:
      (spec.get('mode').given ? spec.get('mode') : outside).choice('mode', ['exclusive', 'inclusive']) ?? 'exclusive',
    arcs: arcs.items('arcs').flatMap((arc) => {
      if (typeof arc.value !== 'string') return readArc(arc, reading)
      reading.lenient(arc.path, 'an arc is a mapping', `{ step: ${arc.value} }`)
      return [bare(arc)]
    }),
    path: part.path,
  }
}

/** Without any condition the older notation continued at all of them; with one, at the first that holds. */
function readList(part: Part, reading: Reading): Router {
  const arcs = part.items('next').flatMap((item) => {
    return typeof item.value === 'string' && item.value !== '' ? [bare(item)] : readArc(item, reading)
  })
  const mode = arcs.length > 1 && arcs.every((arc) => arc.when === null) ? 'inclusive' : 'exclusive'
  reading.lenient(
    part.path,
    `next has arcs; this is a list, read as mode ${mode}`,
    mode === 'inclusive' ? 'next: { spec: { mode: inclusive }, arcs: [ … ] }' : 'next: { arcs: [ … ] }',
  )
  return { mode, arcs, path: part.path }
}

function bare(part: Part): Arc {
  return { to: part.value as string, when: null, args: null, set: null, path: part.path, toPath: part.path }
}

function readArc(part: Part, reading: Reading): readonly Arc[] {
  if (!part.isObject) {
    part.wrong(`an arc must be a mapping, not ${kindOf(part.value)}`, '{ step: done, when: "{{ … }}" }')
    return []
  }
  reading.fields(part, ARC, 'an arc', FORBIDDEN)
  reading.idle(part.get('spec'), 'an arc has no options', 'leave it out')
  const step = part.get('step')
  if (!step.given) part.wrong('an arc leads to a step', 'step: done')
  const to = step.text('the name of a step')
  const arc = {
    when: readWhen(part.get('when'), reading),
    args: templatesOf(reading.either(part, 'args', 'input'), 'args'),
    set: readContextSet(part, reading),
  }
  return to === null ? [] : [{ to, ...arc, path: part.path, toPath: step.path }]
}
