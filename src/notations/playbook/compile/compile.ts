/** A playbook as a net: a step is a node; its pipeline one run, a loop of runs, a child, or nothing at all. */
import type {
  ChildWork,
  EachWork,
  Json,
  Net,
  Arc as NetArc,
  Next,
  Node,
  RunWork,
  Timeout,
  Work,
} from '../../../net/net.ts'
import type { Retry } from '../../../net/retry/retry.ts'
import { type Graph, ringsOf } from '../check/graph.ts'
import type { Mention } from '../check/mentions.ts'
import type { Joins } from '../read/joins.ts'
import type { Arc, Playbook, Secret, Step } from '../read/playbook.ts'
import type { Reading } from '../read/reading.ts'
import { stepType } from '../runtime/program.ts'
import type { Children } from './children.ts'
import { itemOf, payloadOf, type StepGiven } from './payload.ts'
import { programOf } from './program.ts'

const QUEUE = 'playbook'

/** The target of arcs to the final step, which comes by itself. No step can have this name. */
const END = '#end'

/** For lost workers. The pipeline's own decisions are final. */
const RETRY: Retry = {
  maxAttempts: 5,
  backoff: 'constant',
  initialMs: 1000,
  coefficient: 1,
  maxMs: 1000,
  jitter: 0,
  nonRetryable: [],
  retryOn: null,
  deadLetter: false,
}

export interface Parts {
  readonly playbook: Playbook
  readonly graph: Graph
  readonly joins: Joins
  /** Steps that no arc leads to are not part of the net. */
  readonly reached: ReadonlySet<string>
  readonly mentions: ReadonlyMap<string, readonly Mention[]>
  readonly children: Children
  readonly reading: Reading
}

export function compilePlaybook(parts: Parts): Net {
  const { playbook, graph, reached } = parts
  const { executor, workload } = playbook
  const compiler = new Compiler(parts)
  const nodes = playbook.steps
    .filter((s) => reached.has(s.name) || s.name === graph.final)
    .map((step) => compiler.node(step))
  const ends = nodes.some((n) => n.next.arcs.some((a) => a.to === END)) ? [endNode()] : []
  return {
    version: 1,
    name: playbook.name,
    dialect: 'playbook',
    nodes: [...nodes, ...ends],
    entry: [graph.entry],
    finals: graph.final === null ? [] : [{ node: graph.final, when: 'always', onFailure: executor.finalStepFailure }],
    onFailure: 'abort',
    verdict: { failedOn: executor.failedOn === 'fail_fast' ? 'first' : executor.failedOn, partial: executor.partial },
    unknown: 'ignore',
    timeoutMs: executor.timeoutMs,
    undoTimeoutMs: null,
    held: executor.pending,
    noMatch: executor.noNextIsError ? 'fail' : 'end',
    input: workload,
    inlineBytes: executor.maxPayloadBytes,
    summary: true,
    tells: true,
  }
}

/** Steps that only route need no worker; but in a ring of such steps they do, or it would spin without end. */
export function spinning(steps: readonly Step[], graph: Graph): ReadonlySet<string> {
  const idle = new Set(steps.filter((s) => isPass(s) || startsChild(s)).map((s) => s.name))
  return new Set(ringsOf([...idle], (s) => graph.targets(s).filter((to) => idle.has(to))).flat())
}

/** No tool, or one that does nothing, and nothing that a worker would have to compute. */
export function isPass({ tasks, loop }: Step): boolean {
  if (loop !== null) return false
  if (tasks.length !== 1) return tasks.length === 0
  const [task] = tasks
  if (task?.kind !== 'noop') return false
  return task.rules.length === 0 && task.set === null && task.input === null && !Object.hasOwn(task.config, 'result')
}

function startsChild({ tasks, loop }: Step): boolean {
  return loop === null && tasks[0]?.kind === 'playbook' && (tasks[0].config['return_step'] ?? null) === null
}

class Compiler {
  readonly #parts: Parts
  readonly #keychain: ReadonlyMap<string, Secret>
  readonly #names: ReadonlySet<string>
  readonly #loops: ReadonlySet<string>
  readonly #spinning: ReadonlySet<string>

  constructor(parts: Parts) {
    const { playbook, graph, reached } = parts
    this.#parts = parts
    this.#keychain = new Map(playbook.keychain.map((s) => [s.name, s]))
    this.#names = new Set(reached)
    this.#loops = new Set(playbook.steps.filter((s) => s.loop !== null).map((s) => s.name))
    this.#spinning = spinning(
      playbook.steps.filter((s) => reached.has(s.name)),
      graph,
    )
  }

  node(step: Step): Node {
    const { graph, joins } = this.#parts
    const work = this.#work(step)
    const runs = work.kind === 'run' || (work.kind === 'each' && work.body?.kind === 'run')
    const final = step.name === graph.final
    return {
      key: step.name,
      work,
      join: joins.joined.has(step.name) ? 'scope' : 'each',
      admit: step.admit === null || final ? null : admissionOf(step.admit),
      retry: runs ? RETRY : null,
      timeout: runs ? clockOf(step) : null,
      onFailure: 'route',
      undo: null,
      next: this.#next(step),
      ...this.#set(step),
    }
  }

  /** If a task is a child, its sets become those of the step, because no worker executes it. */
  #set(step: Step): { readonly set?: { readonly [name: string]: Json } } {
    const [task] = step.tasks
    const own = task?.kind === 'playbook' ? Object.entries(task.set ?? {}) : []
    const set = {
      ...Object.fromEntries(own.map(([target, value]) => [target.replace(/^ctx\./, ''), value])),
      ...step.set,
    }
    return Object.keys(set).length === 0 ? {} : { set }
  }

  #next({ name, next }: Step): Next {
    const { graph, joins } = this.#parts
    const scopes = joins.scopes.get(name) ?? []
    return {
      mode: next.mode === 'inclusive' ? 'every' : 'first',
      arcs: graph.arcs(name).map((arc) => this.#arc(arc)),
      scope: scopes.length > 1 ? scopes : (scopes[0] ?? null),
    }
  }

  #arc({ to, when, args, set }: Arc): NetArc {
    return { to: to === this.#parts.graph.final ? END : to, when, args, set }
  }

  #work(step: Step): Work {
    if (step.loop !== null) return this.#loop(step)
    if (isPass(step) && !this.#spinning.has(step.name)) return { kind: 'pass' }
    return this.#child(step) ?? this.#run(step, this.#given(step).payload)
  }

  #given(step: Step): StepGiven {
    return payloadOf(step, this.#parts.mentions.get(step.name) ?? [], this.#names, this.#loops)
  }

  #run(step: Step, args: Json): RunWork {
    const { mentions, playbook, reading } = this.#parts
    const named = mentions.get(step.name) ?? []
    const program = programOf(step, named, this.#keychain, reading)
    return {
      kind: 'run',
      type: stepType(program.tasks.map(({ kind }) => kind)),
      queue: step.queue ?? playbook.executor.queue ?? QUEUE,
      priority: 100,
      delayMs: 0,
      args,
      limitKey: null,
      program: program as unknown as Json,
    }
  }

  #child(step: Step): ChildWork | null {
    const [task] = step.tasks
    if (task?.kind !== 'playbook') return null
    const returns = task.config['return_step']
    const attached = typeof returns === 'string' || step.loop !== null || step.name === this.#parts.graph.final
    return {
      kind: 'child',
      net: this.#parts.children.reference(step),
      mode: attached ? 'attached' : 'detached',
      input: { ...step.input, ...task.input },
      ...(typeof returns === 'string' ? { returns } : {}),
    }
  }

  #loop(step: Step): EachWork {
    const loop = step.loop as NonNullable<Step['loop']>
    const child = this.#child(step)
    const given = child === null ? this.#given(step) : null
    return {
      kind: 'each',
      items: loop.in ?? listExpression(loop.literal ?? []),
      body: child ?? this.#run(step, itemOf(loop.iterator, given?.itemContext ?? {})),
      maxInFlight: loop.maxInFlight,
      failFast: step.failureMode === 'fail_fast',
      as: loop.iterator,
      collect: 'list',
      ...(step.failureMode === 'best_effort' ? { tolerant: true as const } : {}),
      ...(given === null ? {} : { shared: given.payload }),
    }
  }
}

function admissionOf({ rules, onDeny }: NonNullable<Step['admit']>): NonNullable<Node['admit']> {
  return { rules: rules.map(({ when, allow }) => ({ when, allow })), onDeny }
}

/** One timeout from the first start over all attempts, postponed retries included. */
function clockOf({ timeoutMs }: Step): Timeout | null {
  return timeoutMs === null ? null : { ms: timeoutMs, per: 'node' }
}

function endNode(): Node {
  return {
    key: END,
    work: { kind: 'pass' },
    join: 'each',
    admit: null,
    retry: null,
    timeout: null,
    onFailure: 'route',
    undo: null,
    next: { mode: 'first', arcs: [], scope: null },
  }
}

/** A list written in the file, as an expression; texts in it may be templates of one value. */
export function listExpression(items: readonly Json[]): string {
  return `{{ [${items.map(literal).join(', ')}] }}`
}

function literal(value: Json): string {
  if (value === null) return 'none'
  if (typeof value === 'string') {
    const whole = /^\s*\{\{-?((?:(?!\{\{|\}\})[\s\S])*)-?\}\}\s*$/.exec(value)?.[1]
    return whole === undefined ? JSON.stringify(value) : `(${whole.trim()})`
  }
  if (typeof value !== 'object') return String(value)
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  return `{${Object.entries(value)
    .map(([key, item]) => `${JSON.stringify(key)}: ${literal(item as Json)}`)
    .join(', ')}}`
}
