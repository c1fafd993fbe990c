/**
 * Tasks written once and named by steps: `kind: workbook`. A task is copied to where it is named; the step's own input
 * overrides its.
 */

import { closest, kindOf, type Part } from '../../../kernel/reading/part.ts'
import type { Json } from '../../../net/net.ts'
import type { Task } from './playbook.ts'
import type { Reading } from './reading.ts'
import { readTask } from './task.ts'

export class Workbook {
  readonly #tasks = new Map<string, Task>()
  readonly #reading: Reading

  constructor(part: Part, reading: Reading) {
    this.#reading = reading
    if (part.given) this.#read(part)
  }

  get tasks(): readonly Task[] {
    return [...this.#tasks.values()]
  }

  #read(part: Part): void {
    if (Array.isArray(part.value)) {
      for (const item of part.items('workbook')) this.#readItem(item, null)
      return
    }
    if (!part.isObject) {
      part.wrong(
        `workbook must be a list of tasks, not ${kindOf(part.value)}`,
        '[{ name: score, tool: { kind: python } }]',
      )
      return
    }
    const tasks = part.has('tasks') ? part.get('tasks') : part
    if (part.has('tasks')) this.#reading.fields(part, ['tasks'], 'workbook')
    else this.#reading.lenient(part.path, 'workbook is a list of tasks', '[{ name: score, tool: { kind: python } }]')
    if (Array.isArray(tasks.value)) for (const item of tasks.items('tasks')) this.#readItem(item, null)
    else for (const [name, task] of tasks.entries('tasks')) this.#readItem(task, name)
  }

  #readItem(part: Part, key: string | null): void {
    if (!part.isObject) {
      part.wrong(`a task must be a mapping, not ${kindOf(part.value)}`, '{ name: score, tool: { kind: python } }')
      return
    }
    const name = key ?? part.get('name').text('the name of a task')
    if (name === null) {
      if (!part.get('name').given) part.wrong('a task of the workbook needs a name', 'name: score')
      return
    }
    const tool = part.get('tool')
    if (Array.isArray(tool.value)) {
      tool.wrong('a task of the workbook is one tool', 'name the others in the workbook too, and all in the step')
      return
    }
    if (tool.given) {
      this.#reading.fields(part, ['name', 'tool', 'desc', 'description', 'title', 'assert'], 'a task of the workbook')
    }
    const task = readTask(tool.given ? tool : part, name, this.#reading)
    const before = this.#tasks.get(name)
    if (before !== undefined) {
      part.wrong(`there are two tasks '${name}'`, `the first is in line ${this.#reading.line(before.path)}`)
    } else if (task.kind === 'workbook') {
      part.wrong('a task of the workbook cannot be one of the workbook', 'kind: python')
    } else this.#tasks.set(name, task)
  }

  /** A task of kind workbook becomes the one it names; any other is returned unchanged. */
  resolve(task: Task, part: Part): Task {
    if (task.kind !== 'workbook') return task
    const { task: named, ...rest } = task.config as { readonly task?: Json }
    const field = part.get(named === undefined ? 'name' : 'task')
    const name = typeof named === 'string' ? named : field.text('the name of a task of the workbook')
    if (name === null) {
      part.wrong('kind workbook names a task of the workbook', 'name: score')
      return task
    }
    for (const key of Object.keys(rest)) {
      this.#reading.idle(part.get(key), 'the task is written in the workbook', 'input is given here')
    }
    const found = this.#tasks.get(name)
    if (found === undefined) {
      const near = closest(name, [...this.#tasks.keys()])
      field.wrong(
        `there is no task '${name}' in the workbook`,
        near === null ? `tasks: ${[...this.#tasks.keys()].join(', ') || 'none'}` : `did you mean '${near}'?`,
      )
      return task
    }
    return {
      ...found,
      label: task.label,
      input: found.input === null && task.input === null ? null : { ...found.input, ...task.input },
      inputPath: task.input === null ? found.inputPath : task.inputPath,
      rules: task.rules.length > 0 ? task.rules : found.rules,
      onUnmatched: task.rules.length > 0 ? task.onUnmatched : found.onUnmatched,
      set: task.set ?? found.set,
      timeoutMs: task.timeoutMs ?? found.timeoutMs,
      path: task.path,
    }
  }
}
