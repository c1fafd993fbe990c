import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { flow, read } from '../../../../test/playbook/reading.ts'
import { readInPlace } from '../../read.ts'

/** Every finding as `line:column rule: message (hint)`. */
async function findings(steps: string, more = ''): Promise<readonly string[]> {
  const { warnings = [] } = await read(flow(steps, more))
  return warnings.map((w) => `${w.line}:${w.column} ${w.rule}: ${w.message} (${w.hint})`)
}

const NOOP = 'tool: { kind: noop }'
const admit = (rules: string): string => `spec: { policy: { admit: { ${rules} } } }`
const WHEN = 'when: "{{ ctx.more }}"'

describe('what can never happen is reported, with its line', () => {
  it.each<readonly [string, string, readonly string[]]>([
    [
      'a step that no arc leads to',
      `- { step: a, ${NOOP} }\n- { step: b, ${NOOP}, next: { arcs: [{ step: a, ${WHEN} }] } }`,
      ["6:13 unreachable_step: no arc leads to step 'b': it never runs (an arc to it, or remove it)"],
    ],
    [
      'a step after an arc that is never taken',
      `- { step: a, ${NOOP}, next: { arcs: [{ step: b, when: "{{ false }}" }] } }\n- { step: b, ${NOOP}, next: { arcs: [{ step: c }] } }\n- { step: c, ${NOOP} }`,
      [
        '5:70 hidden_arc: this arc is never taken (leave it out)',
        "6:13 dead_step: step 'b' is dead: every way to it is behind something that never happens (look at the guards and admissions before it)",
        "7:13 dead_step: step 'c' is dead: every way to it is behind something that never happens (look at the guards and admissions before it)",
      ],
    ],
    [
      'a step after one that admits no token',
      `- { step: a, ${NOOP}, next: { arcs: [{ step: b }] } }\n- step: b\n  ${admit('rules: [{ when: "{{ ctx.x }}", then: { allow: false } }, { else: { then: { allow: false } } }]')}\n  ${NOOP}\n  next: { arcs: [{ step: c }] }\n- { step: c, ${NOOP} }`,
      [
        "7:30 never_admitted: no token is ever admitted to step 'b' (a rule with then: { allow: true } before the one that denies everything)",
        "10:13 dead_step: step 'c' is dead: every way to it is behind something that never happens (look at the guards and admissions before it)",
      ],
    ],
    [
      'an arc after one that always matches',
      `- step: a\n  ${NOOP}\n  next:\n    arcs:\n      - { step: b }\n      - { step: c, ${WHEN} }\n- { step: b, ${NOOP} }\n- { step: c, ${NOOP} }`,
      [
        '10:11 hidden_arc: this arc is never taken: the one in line 9 always is, and the first wins (put it before that one, or next: { spec: { mode: inclusive } })',
        "12:13 dead_step: step 'c' is dead: every way to it is behind something that never happens (look at the guards and admissions before it)",
      ],
    ],
    [
      'a loop without an exit',
      `- { step: a, ${NOOP}, next: { arcs: [{ step: b }] } }\n- { step: b, ${NOOP}, next: { arcs: [{ step: c, ${WHEN} }, { step: d }] } }\n- { step: c, ${NOOP}, next: { arcs: [{ step: b }] } }\n- { step: d, ${NOOP}, next: { arcs: [{ step: b }] } }`,
      [
        '6:44 endless_loop: these steps follow each other endlessly, no arc leads out and none can fail to match: b → c → b (an arc with a guard that leads elsewhere, or a guard on one of these)',
      ],
    ],
    [
      'a step that leads to itself',
      `- { step: a, ${NOOP}, next: { arcs: [{ step: a }] } }`,
      [
        '5:44 endless_loop: these steps follow each other endlessly, no arc leads out and none can fail to match: a → a (an arc with a guard that leads elsewhere, or a guard on one of these)',
      ],
    ],
    [
      'a join where no branches can meet',
      `- { step: a, ${NOOP}, next: { arcs: [{ step: b, ${WHEN} }, { step: c }] } }\n- { step: b, ${NOOP}, next: { arcs: [{ step: d }] } }\n- { step: c, ${NOOP}, next: { arcs: [{ step: d }] } }\n- { step: d, spec: { join: all }, ${NOOP} }`,
      [
        "8:30 join_without_fork: no two branches of a fork ever meet at step 'd': it has nothing to wait for (a step before it with next: { spec: { mode: inclusive } } and several arcs that lead here, or leave it out)",
      ],
    ],
    [
      'a step that looks like a join and is not',
      `- step: a\n  ${NOOP}\n  next: { spec: { mode: inclusive }, arcs: [{ step: b }, { step: c }] }\n- { step: b, ${NOOP}, next: { arcs: [{ step: d }] } }\n- { step: c, ${NOOP}, next: { arcs: [{ step: d }] } }\n- { step: d, tool: { kind: noop, result: "{{ [b, c] }}" } }`,
      [
        "10:13 looks_like_join: step 'd' runs once for each branch of 'a' that comes to it, and reads the results of 'b' and 'c', of which one may still be missing (spec: { join: all } lets it wait for all of them and run once; join: each declares that this is intended)",
      ],
    ],
    [
      'no word of it where it reads one branch, says that it is meant, joins, or comes after one branch',
      `- step: a\n  ${NOOP}\n  next: { spec: { mode: inclusive }, arcs: [{ step: b }, { step: c }] }\n- { step: b, ${NOOP}, next: { arcs: [{ step: d }] } }\n- { step: c, ${NOOP}, next: { arcs: [{ step: d }] } }\n- { step: d, tool: { kind: noop, result: "{{ [a, b] }}" }, next: { arcs: [{ step: e }] } }\n- { step: e, spec: { join: each }, tool: { kind: noop, result: "{{ [b, c, d] }}" } }`,
      [],
    ],
    [
      'a branch that never joins the others',
      `- step: a\n  ${NOOP}\n  next:\n    spec: { mode: inclusive }\n    arcs:\n      - { step: b }\n      - { step: c }\n      - { step: e }\n- { step: b, ${NOOP}, next: { arcs: [{ step: d }] } }\n- { step: c, ${NOOP}, next: { arcs: [{ step: d }] } }\n- { step: d, spec: { join: all }, ${NOOP} }\n- { step: e, ${NOOP} }`,
      [
        "12:19 branch_never_joins: this branch never comes to 'd', which joins the others: it only waits until the branch has ended (an arc to 'd', or make it a fork of its own)",
      ],
    ],
    [
      'a branch that can loop endlessly while others wait',
      `- step: a\n  ${NOOP}\n  next:\n    spec: { mode: inclusive }\n    arcs:\n      - { step: b }\n      - { step: c }\n- { step: b, ${NOOP}, next: { arcs: [{ step: e, ${WHEN} }, { step: d }] } }\n- { step: c, ${NOOP}, next: { arcs: [{ step: d }] } }\n- { step: d, spec: { join: all }, ${NOOP} }\n- { step: e, ${NOOP}, next: { arcs: [{ step: e }] } }`,
      [
        "10:19 join_cannot_complete: this branch can loop endlessly, so that 'd' may wait endlessly (a way out of the loop)",
        '15:44 endless_loop: these steps follow each other endlessly, no arc leads out and none can fail to match: e → e (an arc with a guard that leads elsewhere, or a guard on one of these)',
      ],
    ],
  ])('%s', async (_, steps, expected) => {
    expect(await findings(steps)).toEqual(expected)
  })
})

describe('what may happen is not reported: any guard may be true or false', () => {
  it.each<readonly [string, string]>([
    ['a loop with a guard', `- { step: a, ${NOOP}, next: { arcs: [{ step: a, ${WHEN} }] } }`],
    [
      'a loop that can end',
      `- { step: a, ${NOOP}, next: { arcs: [{ step: b, ${WHEN} }, { step: a }] } }\n- { step: b, ${NOOP} }`,
    ],
    [
      'a loop that admission can end',
      `- { step: a, ${NOOP}, ${admit(`on_deny: discard, rules: [{ ${WHEN}, then: { allow: true } }]`)}, next: { arcs: [{ step: a }] } }`,
    ],
    [
      'admission that lets some in',
      `- { step: a, ${NOOP}, ${admit(`rules: [{ ${WHEN}, then: { allow: true } }, { else: { then: { allow: false } } }]`)} }`,
    ],
    [
      'a fork whose branches may end on the way to the join',
      `- { step: a, ${NOOP}, next: { spec: { mode: inclusive }, arcs: [{ step: b }, { step: c }] } }\n- { step: b, ${NOOP}, next: { arcs: [{ step: d, ${WHEN} }] } }\n- { step: c, ${NOOP}, next: { arcs: [{ step: d }] } }\n- { step: d, spec: { join: all }, ${NOOP} }`,
    ],
  ])('%s', async (_, steps) => {
    expect(await findings(steps)).toEqual([])
  })

  it('a loop that leads to the final step ends there', async () => {
    const steps = `- { step: a, ${NOOP}, next: { arcs: [{ step: z, ${WHEN} }, { step: a }] } }\n- { step: z, ${NOOP} }`
    const found = await findings(steps, 'executor: { spec: { final_step: z } }\n')
    expect(found.filter((text) => !text.includes('final_step:'))).toEqual([])
  })

  const examples = new URL('../../../../examples/playbooks/', import.meta.url)
  it.each(readdirSync(examples).filter((file) => file.endsWith('.yaml')))('%s', async (file) => {
    const { warnings = [] } = await readInPlace(file, readFileSync(new URL(file, examples), 'utf8'), {
      resolve: (name) => ({ file: name, text: readFileSync(new URL(name, examples), 'utf8') }),
    })
    expect(warnings.filter(({ rule }) => rule !== 'lenient')).toEqual([])
  })
})
