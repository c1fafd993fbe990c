/**
 * Steps that are playbooks (`kind: playbook`): definitions of their own, found by their path. Finding them also finds
 * mistakes between them: paths that lead nowhere, playbooks that contain themselves, too many levels.
 */

import { normalize } from 'node:path'
import { compileTemplate, namesIn, render } from '../../../expr/index.ts'
import { netHash } from '../../../kernel/hash.ts'
import { MAX_NESTING } from '../../../kernel/limits.ts'
import { closest } from '../../../kernel/reading/part.ts'
import type { ChildStart, Literal } from '../../../model/start.ts'
import type { Net } from '../../../net/net.ts'
import type { Definition } from '../../source/definition.ts'
import { DefinitionError, type LocatedMistake } from '../../source/mistakes.ts'
import type { Others, Stop } from '../../source/named-definitions.ts'
import type { Playbook, Step, Task } from '../read/playbook.ts'
import { type Reading, readSeconds } from '../read/reading.ts'

const FIELDS = ['path', 'return_step', 'timeout', 'payload', 'name']

/** A playbook that contains itself, directly or not: reported where it is named. */
export class ContainsItself extends DefinitionError {
  readonly ring: string
  constructor(file: string, ring: string) {
    super(file, [{ line: 1, column: 1, path: '', message: `it contains itself: ${ring}`, hint: null }])
    this.ring = ring
  }
}

/** Throws if the file being read is one of those that lead to it. */
export function refuseRing(file: string, name: string, { trail }: Others): void {
  const again = trail.findIndex((stop) => stop.file !== undefined && normalize(stop.file) === normalize(file))
  if (again < 0) return
  throw new ContainsItself(file, [...trail.slice(again).map((stop) => stop.definition), name].join(' → '))
}

export class Children {
  readonly #playbook: Playbook
  readonly #others: Others
  readonly #reading: Reading
  readonly #found = new Map<string, Definition>()
  readonly #nets = new Map<string, Net>()
  readonly #references = new Map<string, string>()

  constructor(playbook: Playbook, others: Others, reading: Reading) {
    this.#playbook = playbook
    this.#others = others
    this.#reading = reading
  }

  async find(): Promise<void> {
    for (const step of this.#playbook.steps) {
      const task = step.tasks.find((t) => t.kind === 'playbook')
      if (task === undefined) continue
      this.#checkAlone(step, task)
      const path = this.#pathOf(task)
      if (path !== null) await this.#findOne(step, task, path)
    }
  }

  /** The engine creates the child, so no worker could apply rules to it. */
  #checkAlone(step: Step, task: Task): void {
    if (step.tasks.length > 1) {
      this.#wrong(task, [], `a playbook must be the only task of its step`, 'make a step of its own of this task')
    }
    if (task.rules.length > 0) {
      this.#wrong(
        task,
        ['spec'],
        'a playbook has no rules',
        'arcs route on its end: when: "{{ event.name == \'step.failed\' }}"',
      )
    }
    for (const target of Object.keys(task.set ?? {})) {
      if (!target.startsWith('ctx.')) this.#wrong(task, ['set'], `'${target}' cannot be set here`, 'ctx.name')
    }
    for (const field of Object.keys(task.config)) {
      if (FIELDS.includes(field)) continue
      const near = closest(field, FIELDS)
      this.#reading.lenient(
        task.places[field] ?? task.path,
        `a playbook has no field '${field}'; it is ignored`,
        near === null ? 'fields: path, input, return_step, timeout' : `did you mean '${near}'?`,
        true,
      )
    }
  }

  /** null: a mistake that was noted. A path that reads the workload is resolved with the workload of the file. */
  #pathOf(task: Task): string | null {
    const { path } = task.config
    if (typeof path !== 'string' || path.trim() === '') {
      this.#wrong(task, path === undefined ? [] : ['path'], 'kind playbook needs a path', 'path: load_orders.yaml')
      return null
    }
    if (!path.includes('{{') && !path.includes('{%')) return path.trim()
    const fixed = this.#rendered(path)
    if (fixed === null) {
      this.#wrong(
        task,
        ['path'],
        'the path of a playbook is fixed',
        'a text, or a key of the workload that is given here',
      )
      return null
    }
    this.#reading.lenient(
      task.places['path'] ?? task.path,
      `the path of a playbook is fixed: it is '${fixed}', whatever the workload is at the start`,
      `path: ${fixed}`,
    )
    return fixed
  }

  #rendered(path: string): string | null {
    const { workload, steps } = this.#playbook
    try {
      const template = compileTemplate(path)
      const known = namesIn(template).every(([root, key]) => {
        if (root === 'workload') return key !== undefined && Object.hasOwn(workload, key)
        return Object.hasOwn(workload, root) && !steps.some((s) => s.name === root)
      })
      const value = known ? render(template, { ...workload, workload }) : null
      return typeof value === 'string' && value !== '' ? value : null
    } catch {
      return null
    }
  }

  async #findOne(step: Step, task: Task, path: string): Promise<void> {
    const here: readonly Stop[] = [
      ...this.#others.trail,
      { definition: this.#playbook.name, inside: [], file: this.#reading.reader.source.file },
    ]
    if (here.length >= MAX_NESTING) {
      return this.#wrong(
        task,
        ['path'],
        `playbooks are nested more than ${MAX_NESTING} levels deep`,
        'make steps of the innermost',
      )
    }
    for (const name of namesFor(path)) {
      const other = await this.#others.find(name, here)
      if (other === null) continue
      if ('error' in other && other.error instanceof ContainsItself) {
        return this.#wrong(
          task,
          ['path'],
          `the playbook contains itself: ${other.error.ring}`,
          'remove one of these steps',
        )
      }
      const named = (m: LocatedMistake): LocatedMistake => ({ ...m, file: m.file ?? other.file })
      if ('error' in other) return this.#reading.reader.noteElsewhere(other.error.problems.map(named))
      this.#reading.warnElsewhere((other.definition.warnings ?? []).map(named))
      this.#found.set(step.name, other.definition)
      return this.#checkFound(step, task, other.definition, here.length)
    }
    const near = closest(path, await this.#others.names())
    this.#wrong(
      task,
      ['path'],
      `there is no playbook '${path}'`,
      near === null ? 'a file beside this one, or a deployed definition' : `did you mean '${near}'?`,
    )
  }

  #checkFound(step: Step, task: Task, definition: Definition, levels: number): void {
    const { start, dialect } = definition
    if (levels + levelsOf(start.net, start.nets ?? []) > MAX_NESTING) {
      this.#wrong(
        task,
        ['path'],
        `playbooks are nested more than ${MAX_NESTING} levels deep`,
        'make steps of the innermost',
      )
    }
    if (step.loop !== null && (start.literals !== undefined || start.items !== undefined)) {
      this.#wrong(
        task,
        ['path'],
        `a ${dialect} definition with arguments of its own cannot be looped over`,
        'a playbook',
      )
    }
    if (step.loop !== null && task.set !== null) this.#warnOfSet(task)
    const returns = task.config['return_step'] ?? null
    if (returns === null) return this.#warnOfWaiting(step, task)
    if (typeof returns !== 'string') {
      return this.#wrong(task, ['return_step'], 'return_step is the name of a step', 'return_step: result')
    }
    const keys = start.net.nodes.map((n) => n.key).filter((key) => !key.startsWith('#'))
    if (keys.includes(returns)) return
    const near = closest(returns, keys)
    this.#wrong(
      task,
      ['return_step'],
      `'${definition.name}' has no step '${returns}' that could be reached`,
      near === null ? `steps: ${keys.slice(0, 12).join(', ')}` : `did you mean '${near}'?`,
    )
  }

  /**
   * Without return_step the parent does not wait for it; but an item of a loop, and the last step, must be waited for.
   */
  #warnOfWaiting(step: Step, task: Task): void {
    const final = step.name === this.#playbook.executor.final
    if (step.loop === null && !final) return
    this.#reading.warn(
      task.places['path'] ?? task.path,
      `a playbook ${final ? 'that is the final step' : 'in a loop'} is waited for, return_step or not`,
      'return_step: the step whose result is wanted',
      'waited_for',
    )
  }

  /** No worker executes an item that is a playbook, so its sets would only be written when the loop has ended. */
  #warnOfSet(task: Task): void {
    this.#reading.warn(
      task.places['set'] ?? task.path,
      'set of a playbook in a loop is written once, when the loop has ended: output is the result of the loop, and no item sees it',
      'a playbook that takes the list, or a step after the loop that goes over its results',
      'waited_for',
    )
  }

  /** The hash of this step's net, with the shorter of both timeouts. */
  reference(step: Step): string {
    const task = step.tasks[0] as Task
    const { start } = this.#found.get(step.name) as Definition
    const own = this.#timeoutOf(task)
    const timeoutMs = shortest(start.net.timeoutMs, own, step.timeoutMs, task.timeoutMs)
    const key = `${step.name}/${timeoutMs}`
    const known = this.#references.get(key)
    if (known !== undefined) return known
    for (const net of start.nets ?? []) this.#nets.set(netHash(net), net)
    const net = start.net.timeoutMs === timeoutMs ? start.net : { ...start.net, timeoutMs }
    const hash = netHash(net)
    this.#nets.set(hash, net)
    this.#references.set(key, hash)
    return hash
  }

  #timeoutOf(task: Task): number | null {
    const path = task.places['timeout']
    if (path === undefined) return null
    let part = this.#reading.reader.root
    for (const key of path)
      part = Array.isArray(part.value) ? (part.items('')[Number(key)] ?? part) : part.get(String(key))
    return readSeconds(part, 'timeout')
  }

  get nets(): readonly Net[] {
    return [...this.#nets.values()]
  }

  /** The literals that definitions store beside their nets: arguments, items, and warnings about them. */
  literals(): { readonly [step: string]: Literal } {
    const found: Record<string, Literal> = {}
    for (const step of this.#playbook.steps) {
      const definition = step.loop === null ? this.#found.get(step.name) : undefined
      if (definition === undefined) continue
      const { literals, items, meta } = definition.start
      const start: ChildStart = {
        ...(literals === undefined ? {} : { literals }),
        ...(items === undefined ? {} : { items }),
        ...(meta === undefined ? {} : { meta }),
      }
      if (Object.keys(start).length > 0) found[step.name] = { start }
    }
    return found
  }

  #wrong(task: Task, field: readonly string[], message: string, hint: string): void {
    const [name] = field
    this.#reading.wrong(name === undefined ? task.path : (task.places[name] ?? [...task.path, name]), message, hint)
  }
}

/** The path as written, without its ending, and its last part alone. */
function namesFor(path: string): readonly string[] {
  const plain = path.replace(/\.(ya?ml|json)$/, '')
  const last = plain.slice(plain.lastIndexOf('/') + 1)
  return [...new Set([path, plain, plain.replace(/^\.?\/+/, ''), last])].filter((name) => name !== '')
}

function shortest(...times: readonly (number | null)[]): number | null {
  const given = times.filter((ms) => ms !== null)
  return given.length === 0 ? null : Math.min(...given)
}

function levelsOf(outer: Net, nets: readonly Net[]): number {
  const byHash = new Map(nets.map((net) => [netHash(net), net]))
  const known = new Map<Net, number>()
  const levels = (net: Net): number => {
    const before = known.get(net)
    if (before !== undefined) return before
    const inner = net.nodes.flatMap(({ work }) => {
      const child = work.kind === 'each' ? work.body : work
      return child?.kind === 'child' ? (byHash.get(child.net) ?? []) : []
    })
    const found = 1 + Math.max(0, ...inner.map(levels))
    known.set(net, found)
    return found
  }
  return levels(outer)
}
