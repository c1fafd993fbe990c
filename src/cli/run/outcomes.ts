/**
 * The outcomes file of a dry run: the answers of stand-ins, by node key (`pay`, one item of an each `ship[2]`, an undo
 * `pay.undo`, the decision of people if governance forbids it `pay.governance`) or by type. A list has one answer per
 * execution; after its end, and for names missing in the file, a stand-in returns its input.
 */

import { closest, type Part } from '../../kernel/reading/part.ts'
import type { Failure } from '../../net/marking.ts'
import type { Json } from '../../net/net.ts'
import type { Terms } from '../../notations/interface/projection.ts'
import { Reader } from '../../notations/source/reader.ts'
import { readSource } from '../../notations/source/source.ts'

export interface RunAnswer {
  readonly delayMs: number
  readonly error: Failure | null
  /** undefined: the input is the result. */
  readonly result: Json | undefined
}

export interface GateAnswer {
  /** null: no answer; its timeout decides, if it has one. */
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
  /** Number of executions of the run, including this one: from 1, and counting on when it is made active again. */
  readonly times: number
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

  /** A single answer that fails with a governance error applies only the first time, since an approval overrules it. */
  run(execution: Execution): RunAnswer {
    const found = this.#find(namesOf(execution), execution.times)
    if (found === null) return PLAIN
    const { answer, alone } = found
    return alone && execution.times > 1 && answer.error?.category === 'governance' ? PLAIN : answer
  }

  /** `times` counts the gates already opened at this node. */
  gate(node: string, times: number): GateAnswer {
    return this.#find([node], times + 1)?.answer ?? PLAIN
  }

  /** The answer to the gate about this execution: given with its error, or separately. */
  appeal(execution: Execution, times: number): GateAnswer {
    const apart = this.#find([`${execution.node}.governance`], times + 1)
    return (apart ?? this.#find(namesOf(execution), execution.times))?.answer ?? PLAIN
  }

  #find(names: readonly string[], times: number): { readonly answer: Answer; readonly alone: boolean } | null {
    for (const name of names) {
      const answer = this.#answers.get(name)
      if (answer === undefined) continue
      if ('length' in answer) return { answer: answer[times - 1] ?? PLAIN, alone: false }
      return { answer, alone: true }
    }
    return null
  }
}

function namesOf({ node, item, role, type }: Execution): readonly string[] {
  return role === 'undo' ? [`${node}.undo`, type] : [`${node}[${item}]`, node ?? type, type]
}

type Categories = Terms['errorCategories']

/** `known`: node keys and types of the definition; a name beyond them is a slip of the keyboard. */
export function readOutcomes(
  file: string,
  text: string,
  known: ReadonlySet<string>,
  categories?: Categories,
): Outcomes {
  const reader = new Reader(readSource(file, text))
  const answers = new Map<string, readonly Answer[] | Answer>()
  for (const [name, part] of reader.root.entries('an outcomes file')) {
    const base = name.replace(/\[\d+\]$|\.undo$|\.governance$/, '')
    if (!known.has(name) && !known.has(base)) {
      const near = closest(base, [...known])
      reader.note({
        path: [name],
        onKey: true,
        message: `'${name}' is no node and no type of the definition`,
        hint: near === null ? `known: ${[...known].join(', ')}` : `did you mean '${near}'?`,
      })
    }
    const read = (one: Part): Answer => readAnswer(one, categories)
    answers.set(name, Array.isArray(part.value) ? part.items(name).map(read) : read(part))
  }
  reader.throwIfWrong()
  return new Outcomes(answers)
}

const WORDS = ['ok', 'approved', 'rejected', 'timeout'] as const
/** Longer than any timeout; a session lives longer. */
export const NEVER_MS = 10 * 365 * 86_400_000

/** A word is a short answer: `approved` and `rejected` of a gate, `ok` of a run, `timeout` of both: no answer. */
function readAnswer(part: Part, categories: Categories): Answer {
  if (typeof part.value === 'string') {
    const word = part.choice('an outcome', WORDS)
    if (word === 'rejected') return { ...PLAIN, approved: false }
    return word === 'timeout' ? { ...PLAIN, approved: null, delayMs: NEVER_MS } : PLAIN
  }
  if (!part.hasOnly(KEYS, 'an outcome')) return PLAIN
  const error = readError(part.get('error'), categories)
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

function readError(part: Part, categories: Categories): Failure | null {
  if (!part.given) return null
  if (typeof part.value === 'string') return { code: 'mocked', message: part.value }
  part.hasOnly(['code', 'message', 'category', 'retryable'], 'an error')
  const word = part.get('category')
  const category = categories === undefined ? word.text('category') : word.choice('category', categories)
  const retryable = part.get('retryable').flag('retryable')
  return {
    code: part.get('code').text('code') ?? 'mocked',
    message: part.get('message').text('message') ?? 'the error of the outcomes file',
    ...(category === null ? {} : { category }),
    ...(retryable === null ? {} : { retryable }),
  }
}
