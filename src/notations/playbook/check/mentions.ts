/**
 * The names that a step's templates and conditions read, each with its place. Texts that do not parse are noted here.
 */
import { compileExpression, compileTemplate, type Name, namesIn } from '../../../expr/index.ts'
import type { Path } from '../../../kernel/reading/mistakes.ts'
import type { Json } from '../../../net/net.ts'
import type { Step, Task, Templates } from '../read/playbook.ts'
import type { Reading } from '../read/reading.ts'

/**
 * What reads a name. The engine: at admission, when a list opens, when a child is created, when a step has ended. The
 * worker: the step's input, the fields of a tool, the rules and sets of a task.
 */
export type Reader = 'admit' | 'loop' | 'child' | 'ended' | 'input' | 'field' | 'rule'

export interface Mention {
  readonly name: Name
  readonly reader: Reader
  readonly path: Path
}

/** Fields of a kind that its tool receives unrendered. */
export type Verbatim = (kind: string) => readonly string[]

export function isWorkers({ reader }: Mention): boolean {
  return reader === 'input' || reader === 'field' || reader === 'rule'
}

export function mentionsOf(step: Step, verbatim: Verbatim, reading: Reading): readonly Mention[] {
  const found = new Collector(reading)
  for (const rule of step.admit?.rules ?? []) found.expression(rule.when, 'admit', rule.path)
  if (step.loop !== null) {
    const { loop } = step
    found.expression(loop.in, 'loop', [...loop.path, 'in'])
    found.template(loop.literal as Json, 'loop', [...loop.path, 'in'])
    if (typeof loop.maxInFlight === 'string') found.expression(loop.maxInFlight, 'loop', mostPath(loop.path, reading))
  }
  const child = step.tasks.some((task) => task.kind === 'playbook')
  found.templates(
    step.input,
    child ? 'child' : 'input',
    given([...step.path, 'input'], [...step.path, 'args'], reading),
  )
  for (const task of step.tasks) ofTask(task, verbatim(task.kind), found)
  found.sets(step.set, 'ended', step.path)
  for (const arc of step.next.arcs) {
    found.expression(arc.when, 'ended', [...arc.path, 'when'])
    found.templates(arc.args, 'ended', given([...arc.path, 'args'], [...arc.path, 'input'], reading))
    found.sets(arc.set, 'ended', arc.path)
  }
  return found.mentions
}

function ofTask(task: Task, verbatim: readonly string[], found: Collector): void {
  const child = task.kind === 'playbook'
  // The input of a noop is its result.
  const reader = child ? 'child' : task.kind === 'noop' ? 'rule' : 'field'
  found.templates(task.input, reader, task.inputPath)
  if (!child) {
    for (const [field, value] of Object.entries(task.config)) {
      if (!verbatim.includes(field)) found.template(value, reader, task.places[field] as Path)
    }
  }
  for (const rule of task.rules) {
    found.expression(rule.when, 'rule', rule.path)
    found.sets(rule.set, 'rule', rule.thenPath)
    if (typeof rule.delayS === 'string') found.template(rule.delayS, 'rule', [...rule.thenPath, 'delay'])
  }
  found.sets(task.set, child ? 'ended' : 'rule', task.path)
}

class Collector {
  readonly mentions: Mention[] = []
  readonly #reading: Reading

  constructor(reading: Reading) {
    this.#reading = reading
  }

  expression(source: string | null, reader: Reader, path: Path): void {
    if (source !== null) this.#names(() => namesIn(compileExpression(source)), reader, path)
  }

  /** Each text separately, so that each mistake has its line. */
  template(value: Json, reader: Reader, path: Path): void {
    if (typeof value === 'string') {
      if (!value.includes('{{') && !value.includes('{%')) return
      this.#names(() => namesIn(compileTemplate(value)), reader, path)
    } else if (Array.isArray(value)) {
      for (const [i, item] of value.entries()) this.template(item as Json, reader, [...path, i])
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, item] of Object.entries(value)) this.template(item as Json, reader, [...path, key])
    }
  }

  templates(values: Templates | null, reader: Reader, path: Path): void {
    if (values !== null) this.template(values, reader, path)
  }

  /** Targets may be written in several ways: the one in the file is searched for. */
  sets(values: Templates | null, reader: Reader, path: Path): void {
    for (const [target, value] of Object.entries(values ?? {})) {
      this.template(value, reader, setPath(path, target, this.#reading))
    }
  }

  #names(names: () => readonly Name[], reader: Reader, path: Path): void {
    try {
      for (const name of names()) this.mentions.push({ name, reader, path })
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      this.#reading.wrong(path, message, 'an expression as in {{ workload.name }}', 'template')
    }
  }
}

function setPath(path: Path, target: string, reading: Reading): Path {
  const name = target.replace(/^(ctx|iter|step)\./, '')
  const scope = target === name ? 'ctx' : target.slice(0, target.indexOf('.'))
  const ways: readonly Path[] = [
    ['set', `${scope}.${name}`],
    ['set', name],
    [`set_${scope}`, name],
    ['set', scope, name],
  ]
  return [...path, ...(ways.find((way) => exists([...path, ...way], reading)) ?? [])]
}

function given(path: Path, older: Path, reading: Reading): Path {
  return exists(older, reading) && !exists(path, reading) ? older : path
}

function mostPath(loop: Path, reading: Reading): Path {
  return given([...loop, 'spec', 'max_in_flight'], [...loop, 'max_in_flight'], reading)
}

function exists(path: Path, { reader }: Reading): boolean {
  let value: unknown = reader.source.value
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return false
    value = (value as Record<string | number, unknown>)[part]
  }
  return true
}
