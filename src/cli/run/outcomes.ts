/**
 * The outcomes file of a dry run: what stand-ins answer, by node key (`pay`, one item of an each `ship[2]`, an undo
 * `pay.undo`) or by type. A list gives one answer per attempt; after its end, and for whatever the file does not
 * name, a stand-in returns its input.
 */

import { type Part, Reader } from '../../dialects/reader.ts'
import { readSource } from '../../dialects/source.ts'
import type { Failure } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'

export interface RunAnswer {
  readonly delayMs: number
  readonly error: Failure | null
  /** undefined: the input. */
  readonly result: Json | undefined
}

export interface GateAnswer {
  /** null: nobody answers; its timeout decides, if it has one. */
  readonly approved: boolean | null
  readonly afterMs: number
  readonly answer: Json | null
  readonly reason: string | null
}

export interface Execution {
  readonly node: string | null
  readonly item: number
  readonly role: 'work' | 'undo' | 'final'
  readonly type: string
  /** From 1. */
  readonly attempt: number
}

type Answer = RunAnswer & GateAnswer

const PLAIN: Answer = {
  delayMs: 0,
  error: null,
  result: undefined,
  approved: true,
  afterMs: 0,
  answer: null,
  reason: null,
}
const KEYS = ['result', 'error', 'delay', 'approve', 'after', 'answer', 'reason']

export class Outcomes {
  readonly #answers: ReadonlyMap<string, readonly Answer[] | Answer>

  constructor(answers: ReadonlyMap<string, readonly Answer[] | Answer> = new Map()) {
    this.#answers = answers
  }

  run(execution: Execution): RunAnswer {
    const { node, item, role, type, attempt } = execution
    const names = role === 'undo' ? [`${node}.undo`, type] : [`${node}[${item}]`, node ?? type, type]
    return this.#find(names, attempt) ?? PLAIN
  }

  /** `times` counts the gates already opened at this node. */
  gate(node: string, times: number): GateAnswer {
    return this.#find([node], times + 1) ?? PLAIN
  }

  #find(names: readonly string[], attempt: number): Answer | null {
    for (const name of names) {
      const answer = this.#answers.get(name)
      if (answer === undefined) continue
      return 'length' in answer ? (answer[attempt - 1] ?? PLAIN) : answer
    }
    return null
  }
}

/** `known`: node keys and types of the definition; a name beyond them is a slip of the keyboard. */
export function readOutcomes(file: string, text: string, known: ReadonlySet<string>): Outcomes {
  const reader = new Reader(readSource(file, text))
  const answers = new Map<string, readonly Answer[] | Answer>()
  for (const [name, part] of reader.root.entries('an outcomes file')) {
    const base = name.replace(/\[\d+\]$|\.undo$/, '')
    if (!known.has(name) && !known.has(base)) {
      reader.note({
        path: [name],
        onKey: true,
        message: `'${name}' is no node and no type of the definition`,
        hint: `known: ${[...known].join(', ')}`,
      })
    }
    answers.set(name, Array.isArray(part.value) ? part.items(name).map(readAnswer) : readAnswer(part))
  }
  reader.throwIfWrong()
  return new Outcomes(answers)
}

/** `approved`, `rejected` and `timeout` are short answers of a gate, `ok` of a run. */
function readAnswer(part: Part): Answer {
  if (part.value === 'approved' || part.value === 'ok') return PLAIN
  if (part.value === 'rejected') return { ...PLAIN, approved: false }
  if (part.value === 'timeout') return { ...PLAIN, approved: null }
  if (!part.hasOnly(KEYS, 'an outcome')) return PLAIN
  const error = readError(part.get('error'))
  if (error !== null && part.has('result')) part.wrong('an outcome has a result or an error, not both')
  const result = part.get('result')
  return {
    delayMs: part.get('delay').duration('delay') ?? 0,
    error,
    result: part.has('result') ? result.json() : undefined,
    approved: part.get('approve').flag('approve') ?? true,
    afterMs: part.get('after').duration('after') ?? 0,
    answer: part.get('answer').json(),
    reason: part.get('reason').text('reason'),
  }
}

function readError(part: Part): Failure | null {
  if (!part.given) return null
  if (typeof part.value === 'string') return { code: 'mocked', message: part.value }
  part.hasOnly(['code', 'message', 'category', 'retryable'], 'an error')
  const category = part.get('category').text('category')
  const retryable = part.get('retryable').flag('retryable')
  return {
    code: part.get('code').text('code') ?? 'mocked',
    message: part.get('message').text('message') ?? 'the outcomes file says so',
    ...(category === null ? {} : { category }),
    ...(retryable === null ? {} : { retryable }),
  }
}
