/**
 * The names playbooks use in guards, admission rules, sets, arc arguments and loops, made from the net's scope.
 *
 * A bare name is, in this order: the loop's item, the result of a step, an entry of the context, a key of the workload.
 */

import { Alias, ExprError, type Face, type Name, ownKey, type Vocabulary } from '../../../expr/index.ts'
import type { Json } from '../../../net/net.ts'
import { type BoundaryEvent, boundaryEvent } from './boundary-event.ts'
import { group, layers } from './group.ts'
import { type IterNames, iterNames } from './iter.ts'
import { stepResult } from './result.ts'

type Found = { readonly [name: string]: Json }

const PLACE: Name = ['$place']
const WORKLOAD: Name = ['input']
const ARGS: readonly Name[] = [['args']]
const EVENT: Name = ['event']
const HAPPENED: readonly Name[] = [EVENT, ['event', 'result']]
const ITEM: readonly Name[] = [PLACE, ['item']]

/** What each name of the notation is made of. Any other is a bare name. */
const MADE_OF: ReadonlyMap<string, readonly Name[]> = new Map([
  ['workload', [WORKLOAD]],
  ['args', ARGS],
  ['input', ARGS],
  ['event', HAPPENED],
  ['output', HAPPENED],
  ['outcome', HAPPENED],
  ['iter', ITEM],
  ['loop', ITEM],
  ['loop_index', ITEM],
  ['execution_id', [PLACE]],
  ['job', [PLACE]],
])

/** The parts of the event that exclude its result: that of a loop is as long as all its items together. */
const WITHOUT_RESULT: ReadonlyMap<string, readonly string[]> = new Map([
  ['event', ['name', 'step', 'status', 'error']],
  ['output', ['status', 'error']],
  ['outcome', ['status', 'error']],
])

export const playbookVocabulary: Vocabulary = {
  needs([root, key, below]) {
    if (root === 'keychain') {
      throw new ExprError(
        'expr_unknown_name',
        'keychain cannot be read here: only the fields of a tool can read secrets, so that none is stored or logged',
      )
    }
    if (root === 'ctx') return [key === undefined ? ['ctx'] : ['ctx', key], WORKLOAD]
    if (root === 'results' && key !== undefined) return [['results', key, ...numbers(below)]]
    if (key !== undefined && WITHOUT_RESULT.get(root)?.includes(key) === true) return [EVENT]
    return MADE_OF.get(root) ?? madeOfBareName(root, key)
  },
  scope: (found) => new PlaybookScope(found),
}

/** `item` is the net's name for the item of any list: only the workload defines a key of that name. */
function madeOfBareName(name: string, key: string | undefined): readonly Name[] {
  return [
    PLACE,
    ['results', name, ...numbers(key)],
    ['ctx', name],
    name === 'item' ? WORKLOAD : [name, ...numbers(key)],
  ]
}

/** The numbers of a loop are known without its results. */
function numbers(key: string | undefined): readonly string[] {
  return key === 'stats' ? [key] : []
}

/** A name is resolved when it is first read: most evaluations read one or two, a loop reads one many times. */
class PlaybookScope extends Alias {
  readonly #found: Found
  #happened: BoundaryEvent | null = null
  #ctx: Face
  #results: Face

  constructor(found: Found) {
    super()
    this.#found = found
  }

  get plain(): Json {
    return this.#found
  }

  key(name: string): Face {
    switch (name) {
      case 'workload':
        return this.#fact('input')
      case 'ctx':
        return (this.#ctx ??= layers(this.#fact('ctx') ?? null, this.#fact('input') ?? null))
      case 'args':
      case 'input':
        return this.#fact('args')
      case 'event':
      case 'output':
      case 'outcome':
        return this.#boundary()?.[name]
      case 'iter':
      case 'loop':
        return this.#iteration()?.[name]
      case 'loop_index':
        return this.#iteration()?.loop['index']
      case 'execution_id':
        return this.#place('instance')
      case 'job':
        return { uuid: this.#place('instance') ?? null }
      case 'results':
        return (this.#results ??= this.#allResults())
      default:
        return this.#bare(name)
    }
  }

  #fact(name: string): Json | undefined {
    return Object.hasOwn(this.#found, name) ? this.#found[name] : undefined
  }

  #place(name: string): Json | undefined {
    return ownKey(this.#fact('$place'), name)
  }

  #boundary(): BoundaryEvent | undefined {
    const happened = this.#fact('event')
    if (happened === undefined || happened === null) return undefined
    this.#happened ??= boundaryEvent(happened)
    return this.#happened
  }

  #iteration(): IterNames | undefined {
    const index = this.#place('index')
    const total = this.#place('total')
    if (typeof index !== 'number' || typeof total !== 'number') return undefined
    const as = this.#place('as')
    return iterNames(typeof as === 'string' ? as : null, { value: this.#fact('item') ?? null, index, total })
  }

  #allResults(): Face {
    const results = this.#fact('results')
    if (results === undefined) return undefined
    const known = Object.entries(results as Found).map(([step, result]) => [step, resultFace(result)] as const)
    return group(Object.fromEntries(known), results as Found)
  }

  #bare(name: string): Face {
    if (this.#place('as') === name) return this.#fact(name) ?? this.#fact('item')
    const result = ownKey(this.#fact('results'), name)
    if (result !== undefined && result !== null) return stepResult(result)
    const entry = ownKey(this.#fact('ctx'), name)
    if (entry !== undefined) return entry
    const key = name === 'item' ? ownKey(this.#fact('input'), name) : this.#fact(name)
    // A step without a result has not run: it is as undefined as an unknown name.
    return key === null && result === null ? undefined : key
  }
}

function resultFace(result: Json): Face {
  return result === null ? undefined : stepResult(result)
}
