/**
 * Checks that the names in templates exist. A name without a meaning would silently be undefined, so it is reported
 * here.
 */
import { closest } from '../../../kernel/reading/part.ts'
import { WORKERS_OWN } from '../compile/payload.ts'
import { authEntry } from '../compile/program.ts'
import type { Playbook, Secret, Step } from '../read/playbook.ts'
import type { Reading } from '../read/reading.ts'
import type { Mention, Reader } from './mentions.ts'

const COMMON = ['workload', 'ctx', 'args', 'input', 'execution_id', 'job']
const ITEM = ['iter', 'loop', 'loop_index']
const ENDED = ['event', 'output', 'outcome']
/** A step with one of these names can run, but its result cannot be read by its name. */
const HIDING = [...new Set([...COMMON, ...ITEM, ...ENDED, 'results', 'keychain', 'true', 'false', 'none'])]

export function checkNames(
  playbook: Playbook,
  mentions: ReadonlyMap<string, readonly Mention[]>,
  reading: Reading,
): void {
  new Names(playbook, reading).check(mentions)
}

class Names {
  readonly #playbook: Playbook
  readonly #reading: Reading
  readonly #known: ReadonlySet<string>
  readonly #secrets: ReadonlyMap<string, Secret>
  /** Args of the arcs to a step. */
  readonly #given = new Map<string, Set<string>>()
  readonly #reported = new Set<string>()

  constructor(playbook: Playbook, reading: Reading) {
    this.#playbook = playbook
    this.#reading = reading
    this.#known = new Set([
      ...playbook.steps.map((s) => s.name),
      ...Object.keys(playbook.workload),
      ...playbook.steps.flatMap(contextOf),
    ])
    this.#secrets = new Map(playbook.keychain.map((s) => [s.name, s]))
    for (const { to, args } of playbook.steps.flatMap((s) => s.next.arcs)) {
      const given = this.#given.get(to) ?? new Set()
      for (const name of Object.keys(args ?? {})) given.add(name)
      this.#given.set(to, given)
    }
  }

  check(mentions: ReadonlyMap<string, readonly Mention[]>): void {
    for (const step of this.#playbook.steps) {
      if (HIDING.includes(step.name)) {
        const message = `'${step.name}' means something else in templates: the result of this step cannot be read`
        this.#reading.warn([...step.path, 'step'], message, 'another name', 'hidden_name')
      }
      const own = this.#ownOf(step)
      for (const mention of mentions.get(step.name) ?? []) this.#check(step, own, mention)
      for (const task of step.tasks) {
        const entry = authEntry(task, this.#secrets)
        if (entry !== null) this.#checkKind(this.#secrets.get(entry) as Secret)
      }
    }
  }

  /** Names that only the tasks of a step know: each other, the item, and the inputs of task and step. */
  #ownOf(step: Step): ReadonlySet<string> {
    return new Set([
      ...step.tasks.flatMap((task) => [task.label, ...Object.keys(task.input ?? {})]),
      ...(step.loop === null ? [] : [step.loop.iterator]),
      ...Object.keys(step.input ?? {}),
      ...(this.#given.get(step.name) ?? []),
    ])
  }

  #check(step: Step, own: ReadonlySet<string>, mention: Mention): void {
    const { name, reader } = mention
    const [root, key] = name
    if (root === 'keychain') return this.#checkSecret(mention)
    if (root === 'workload') return this.#checkWorkload(key, mention)
    if (root.startsWith('$') || this.#known.has(root) || rootsFor(reader, step).includes(root)) return
    if (own.has(root) && (isOfWorker(reader) || (reader === 'child' && root === step.loop?.iterator))) return
    const hint = this.#meant(root, step, own, reader)
    this.#warn(mention, `nothing is called '${root}' here: it is undefined`, hint)
  }

  #meant(root: string, step: Step, own: ReadonlySet<string>, reader: Reader): string {
    if (root === 'result') return 'output.data is the result of what ended'
    if (own.has(root)) return `only the tasks of the step can name it; the result of the step is '${step.name}'`
    const near = closest(root, [...this.#known, ...(isOfWorker(reader) ? own : []), ...rootsFor(reader, step)])
    return near === null ? standard(reader) : `did you mean '${near}'?`
  }

  /** The workload given at the start may have more keys; one that nearly matches a key of the file is a slip. */
  #checkWorkload(key: string | undefined, mention: Mention): void {
    const { workload } = this.#playbook
    if (key === undefined || Object.hasOwn(workload, key)) return
    const near = Object.keys(workload).find((known) => slip(known, key))
    if (near !== undefined) this.#warn(mention, `the workload has no '${key}'`, `did you mean '${near}'?`)
  }

  #checkSecret({ name, reader, path }: Mention): void {
    const [, entry] = name
    if (reader !== 'field') {
      const hint = 'give it to the tool that needs it: in its fields, or in the input of the task'
      return this.#reading.wrong(path, 'the keychain is read by tools only: what is set or routed on is stored', hint)
    }
    const names = [...this.#secrets.keys()]
    if (entry === undefined) {
      return this.#reading.wrong(path, 'the keychain is not given whole', 'keychain.NAME, or keychain.NAME.KEY')
    }
    const secret = this.#secrets.get(entry)
    if (secret !== undefined) return this.#checkKind(secret)
    const near = closest(entry, names)
    const declared =
      names.length === 0 ? 'declare it: keychain: [{ name, kind: env, ref }]' : `entries: ${names.join(', ')}`
    this.#reading.wrong(
      path,
      `the keychain has no entry '${entry}'`,
      near === null ? declared : `did you mean '${near}'?`,
    )
  }

  #checkKind({ name, kind, path }: Secret): void {
    if (kind !== null || this.#reported.has(`kind of ${name}`)) return
    this.#reported.add(`kind of ${name}`)
    this.#reading.wrong(
      [...path, 'kind'],
      `entry '${name}' is of a kind that is not supported`,
      'kind: env or kind: file',
    )
  }

  #warn({ path }: Mention, message: string, hint: string): void {
    const once = `${path.join('/')} ${message}`
    if (this.#reported.has(once)) return
    this.#reported.add(once)
    this.#reading.warn(path, message, hint, 'unknown_name')
  }
}

function isOfWorker(reader: Reader): boolean {
  return reader === 'input' || reader === 'field' || reader === 'rule'
}

function rootsFor(reader: Reader, step: Step): readonly string[] {
  if (isOfWorker(reader)) return step.loop === null ? NOT_IN_LOOP : IN_LOOP
  if (reader === 'ended') return [...COMMON, ...ENDED]
  if (reader === 'admit') return [...COMMON, 'event']
  return reader === 'child' && step.loop !== null ? [...COMMON, ...ITEM] : COMMON
}

const IN_LOOP: readonly string[] = [...COMMON, ...WORKERS_OWN]
/** `iter` exists for the values that tasks put into it. */
const NOT_IN_LOOP: readonly string[] = IN_LOOP.filter((name) => name !== 'loop' && name !== 'loop_index')

function standard(reader: Reader): string {
  const item = isOfWorker(reader) ? ', the names of tasks, iter, _prev' : ''
  return `steps, keys of the workload, entries of ctx${item}`
}

/** Names of the context that something in this step sets. */
function contextOf(step: Step): readonly string[] {
  const targets = step.tasks.flatMap((task) => [
    ...Object.keys(task.set ?? {}),
    ...task.rules.flatMap((rule) => Object.keys(rule.set ?? {})),
  ])
  return [
    ...targets.filter((target) => target.startsWith('ctx.')).map((target) => target.slice(4)),
    ...Object.keys(step.set ?? {}),
    ...step.next.arcs.flatMap((arc) => Object.keys(arc.set ?? {})),
  ]
}

/** One letter added, missing, replaced, or swapped. */
function slip(known: string, written: string): boolean {
  return Math.abs(known.length - written.length) <= 1 && known.length > 3 && closest(written, [known]) !== null
}
