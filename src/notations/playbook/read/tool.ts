/** `tool` of a step: one task, or a list of them, in every shape that authors have written. */
import { kindOf, type Part } from '../../source/reader.ts'
import type { Task } from './playbook.ts'
import type { Reading } from './reading.ts'
import { readTask } from './task.ts'
import type { Workbook } from './workbook.ts'

export function readTools(part: Part, step: string, workbook: Workbook, reading: Reading): readonly Task[] {
  if (!part.given) return []
  if (part.isObject) {
    const task = part.has('kind') || part.has('type') ? null : labelled(part)
    if (task !== null) return [lenientLabel(part, task, workbook, reading)]
    return [readOne(part, `${step}_task`, workbook, reading)]
  }
  if (!Array.isArray(part.value)) {
    part.wrong(`tool is a mapping or a list of them, this is ${kindOf(part.value)}`, 'tool: { kind: python, code: … }')
    return []
  }
  if (part.value.length === 0) reading.lenient(part.path, 'tool is an empty list', 'leave it out')
  return part.items('tool').flatMap((item, i) => {
    if (!item.isObject) {
      item.wrong(`a task is a mapping, this is ${kindOf(item.value)}`, '{ name: fetch, kind: http, url: … }')
      return []
    }
    const task = item.has('kind') || item.has('type') ? null : labelled(item)
    if (task !== null) return [lenientLabel(item, task, workbook, reading)]
    if (!item.get('name').given && item.has('kind')) {
      reading.lenient(item.path, `a task of a list has a name; this one is task_${i}`, `name: task_${i}`)
    }
    return [readOne(item, `task_${i}`, workbook, reading)]
  })
}

function readOne(part: Part, standard: string, workbook: Workbook, reading: Reading): Task {
  const label = part.get('name').text('the name of a task') ?? standard
  return workbook.resolve(readTask(part, label, reading), part)
}

/** `{ label: { kind, … } }`; null: another form. */
function labelled(part: Part): Part | null {
  const keys = Object.keys(part.value as object)
  const [only] = keys
  if (keys.length !== 1 || only === undefined) return null
  const task = part.get(only)
  return task.isObject && (task.has('kind') || task.has('type')) ? task : null
}

function lenientLabel(part: Part, task: Part, workbook: Workbook, reading: Reading): Task {
  const label = String(task.path.at(-1))
  reading.lenient(part.path, `the name of task '${label}' is a key`, `write { name: ${label}, kind: … }`)
  return workbook.resolve(readTask(task, label, reading), task)
}
