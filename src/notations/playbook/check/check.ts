/** What must hold between the parts of a playbook: names, targets of arcs and jumps, kinds, entry and final step. */
import { MAX_SUGGESTIONS } from '../../../kernel/limits.ts'
import type { Path } from '../../../kernel/reading/mistakes.ts'
import { closest } from '../../../kernel/reading/part.ts'
import type { Tool } from '../../../tools/tool.ts'
import type { Playbook, Step, Task } from '../read/playbook.ts'
import type { Reading } from '../read/reading.ts'

/** Kinds that the notation has and Petrel does not support. */
const UNSUPPORTED = [
  'agent',
  'artifact',
  'container',
  'ducklake',
  'gateway',
  'gcs',
  'iterator',
  'mcp',
  'nats',
  'playbooks',
  'result_fetch',
  'rhai',
  'script',
  'secrets',
  'snowflake',
  'subscription',
  'task_sequence',
  'transfer',
  'wasm',
]

/** The tools whose fields can be checked. */
export interface ToolTable {
  find(kind: string): Pick<Tool, 'check' | 'verbatim'> | null
  kinds(): readonly string[]
}

export class Check {
  readonly #playbook: Playbook
  readonly #reading: Reading
  readonly #tools: ToolTable
  readonly #byName = new Map<string, Step>()
  readonly #checked = new Set<Task['config']>()
  #suggestions = MAX_SUGGESTIONS

  constructor(playbook: Playbook, tools: ToolTable, reading: Reading) {
    this.#playbook = playbook
    this.#tools = tools
    this.#reading = reading
  }

  /** `spare`: tasks of the workbook, whether a step names them or not. */
  check(spare: readonly Task[]): void {
    const { steps } = this.#playbook
    for (const step of steps) this.#checkName(step)
    for (const step of steps) {
      this.#checkArcs(step)
      this.#checkTasks(step)
      if (step.loop !== null && step.tasks.length === 0) {
        this.#reading.wrong(step.loop.path, 'a loop has nothing to do', 'a tool: one task, or a list of them')
      }
    }
    for (const task of spare) this.#checkKind(task)
    this.#checkExecutor()
  }

  #checkName(step: Step): void {
    if (step.name === '') return
    const before = this.#byName.get(step.name)
    if (before === undefined) this.#byName.set(step.name, step)
    else {
      const line = this.#reading.line([...before.path, 'step'])
      this.#wrong([...step.path, 'step'], `there are two steps '${step.name}'`, `the first is in line ${line}`)
    }
  }

  #checkArcs({ next }: Step): void {
    for (const arc of next.arcs) this.#checkStep(arc.to, arc.toPath)
  }

  #checkStep(name: string, path: Path): void {
    if (this.#byName.has(name)) return
    const names = [...this.#byName.keys()]
    const near = this.#suggestions-- > 0 ? closest(name, names) : null
    this.#wrong(
      path,
      `there is no step '${name}'`,
      near === null ? `steps: ${listed(names)}` : `did you mean '${near}'?`,
    )
  }

  #checkExecutor(): void {
    const { entry, final, path } = this.#playbook.executor
    if (entry !== null) this.#checkStep(entry, [...path, 'entry_step'])
    if (final === null) return
    const at = [...path, 'final_step']
    this.#checkStep(final, at)
    if (final === (entry ?? this.#playbook.steps[0]?.name)) {
      this.#wrong(
        at,
        `'${final}' is where the playbook begins: it cannot also come last`,
        'another step, or entry_step',
      )
    }
    const step = this.#byName.get(final)
    if (step === undefined) return
    if (step.loop !== null)
      this.#wrong(step.loop.path, 'the final step has no loop', 'a task that goes over the list itself')
    const ignored: readonly (readonly [boolean, Path, string])[] = [
      [step.next.arcs.length > 0, step.next.path, 'its arcs are'],
      [step.admit !== null, step.admit?.path ?? [], 'its admission is'],
      [step.join === 'all', [...step.path, 'spec', 'join'], 'its join is'],
    ]
    for (const [given, where, what] of ignored) {
      if (given) {
        const message = `'${final}' is the final step: ${what} ignored, it comes once when all has ended`
        this.#reading.warn(where, message, 'leave it out', 'final_step')
      }
    }
    for (const { next } of this.#playbook.steps) {
      for (const arc of next.arcs) {
        if (arc.to !== final || next === step.next) continue
        const message = `'${final}' is the final step and comes by itself: this arc only ends its branch`
        this.#reading.warn(arc.toPath, message, arc.args === null ? 'leave it out' : 'args go nowhere', 'final_step')
      }
    }
  }

  #checkTasks(step: Step): void {
    const labels = new Map<string, Task>()
    for (const task of step.tasks) {
      const before = labels.get(task.label)
      if (before !== undefined) {
        const line = this.#reading.line(before.path)
        this.#wrong(task.path, `there are two tasks '${task.label}' in this step`, `the first is in line ${line}`)
      }
      if (task.label === 'previous' || task.label === 'prev') {
        this.#wrong(task.path, `a task cannot be called '${task.label}'`, 'jumps mean the task before by it')
      }
      labels.set(task.label, task)
      this.#checkKind(task)
    }
    for (const [i, task] of step.tasks.entries()) {
      for (const rule of task.rules) {
        if (rule.do !== 'jump' || rule.to === null) continue
        const at = [...rule.thenPath, 'to']
        if (rule.to === 'previous') {
          if (i === 0) this.#wrong(at, 'no task comes before this one', 'the name of a task')
        } else if (!labels.has(rule.to)) this.#wrongJump(rule.to, at, [...labels.keys()])
      }
    }
  }

  #wrongJump(to: string, path: Path, labels: readonly string[]): void {
    const elsewhere = this.#playbook.steps.find((s) => s.name === to || s.tasks.some((t) => t.label === to))
    if (elsewhere !== undefined) {
      const hint = `tasks here: ${listed(labels)}; to another step leads an arc`
      this.#wrong(path, `'${to}' is not in this step: a jump stays inside`, hint)
      return
    }
    const near = closest(to, labels)
    this.#wrong(
      path,
      `there is no task '${to}' in this step`,
      near === null ? `tasks: ${listed(labels)}` : `did you mean '${near}'?`,
    )
  }

  #checkKind(task: Task): void {
    const { kind, config, places, path } = task
    if (kind === '' || kind === 'playbook' || kind === 'workbook' || this.#checked.has(config)) return
    // Several steps may use the same task of the workbook.
    this.#checked.add(config)
    const tool = this.#tools.find(kind)
    if (tool === null) {
      if (!this.#playbook.executor.requires.includes(kind)) this.#wrongKind(kind, kindPath(task))
      return
    }
    for (const problem of tool.check(config)) {
      const [field, ...rest] = problem.path
      const at = field === undefined ? path : [...(places[field] ?? [...path, field]), ...rest]
      if (problem.warning === true) this.#reading.lenient(at, problem.message, problem.hint ?? 'leave it out', true)
      else this.#wrong(at, problem.message, problem.hint ?? `see the fields of kind ${kind}`)
    }
  }

  #wrongKind(kind: string, path: Path): void {
    const kinds = [...this.#tools.kinds(), 'workbook', 'playbook']
    const known = `kinds: ${[...kinds].sort().join(', ')}; others that workers bring: executor: { requires: { tools: [${kind}] } }`
    if (UNSUPPORTED.includes(kind)) return this.#wrong(path, `kind '${kind}' is not supported`, known)
    const near = closest(kind, kinds)
    this.#wrong(path, `there is no kind '${kind}'`, near === null ? known : `did you mean '${near}'?`)
  }

  #wrong(path: Path, message: string, hint: string | null): void {
    this.#reading.wrong(path, message, hint)
  }
}

/** For a task of the workbook: there, beside its fields. */
function kindPath({ places, path }: Task): Path {
  const field = Object.values(places)[0]
  const spec = field?.lastIndexOf('spec') ?? -1
  const at = field === undefined ? path : field.slice(0, spec >= 0 ? spec : -1)
  return [...at, 'kind']
}

export function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none'
  return names.length > 12 ? `${names.slice(0, 12).join(', ')}, …` : names.join(', ')
}
