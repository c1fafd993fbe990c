/** What must hold between the parts of a workflow: names, dependencies, compensation, what templates may name. */
import { newEvaluator } from '../../engine/evaluator.ts'
import type { Json } from '../../net/net.ts'
import type { Path } from '../mistakes.ts'
import { closest, type Reader } from '../reader.ts'
import { ancestorsOf, findStuck } from './graph.ts'
import type { Step, Task, Workflow } from './workflow.ts'

/** Looking for what was meant compares with every name; in a large file full of mistakes a few are enough. */
const MAX_SUGGESTIONS = 20

export function checkWorkflow(workflow: Workflow, reader: Reader): void {
  const byName = checkNames(workflow.steps, reader)
  checkDependencies(workflow, byName, reader)
  checkCompensation(workflow, byName, reader)
  if (reader.clean) checkTemplates(workflow, byName, reader)
}

function checkNames(steps: readonly Step[], reader: Reader): ReadonlyMap<string, Step> {
  const byName = new Map<string, Step>()
  for (const step of steps) {
    const before = byName.get(step.name)
    if (step.name === '') continue
    if (before === undefined) byName.set(step.name, step)
    else {
      const first = reader.source.locate([...before.path, 'name']).line
      wrong(reader, [...step.path, 'name'], `there are two steps '${step.name}'`, `the first is in line ${first}`)
    }
  }
  return byName
}

function checkDependencies(workflow: Workflow, byName: ReadonlyMap<string, Step>, reader: Reader): void {
  const { steps } = workflow
  const names = [...byName.keys()]
  let suggestions = MAX_SUGGESTIONS
  for (const { dependsOn, path, name } of steps) {
    for (const dependency of dependsOn) {
      if (byName.has(dependency)) continue
      const near =
        suggestions-- > 0
          ? closest(
              dependency,
              names.filter((n) => n !== name),
            )
          : null
      const at = dependencyPath(path, dependency, reader)
      wrong(
        reader,
        at,
        `there is no step '${dependency}'`,
        near === null ? stepsHint(names) : `did you mean '${near}'?`,
      )
    }
  }
  if (steps.length > 0 && steps.every((s) => s.dependsOn.length > 0)) {
    wrong(
      reader,
      [...workflow.path, 'steps'],
      'no step can begin: every one depends on another',
      'at least one step has no dependsOn',
    )
  }
  const { cycles, behind } = findStuck([...byName.values()])
  for (const cycle of cycles) {
    const [first, second] = cycle as readonly [string, string]
    const at = dependencyPath((byName.get(first) as Step).path, second, reader)
    if (cycle.length === 2) wrong(reader, at, `step '${first}' depends on itself: ${chain(cycle)}`, 'remove it')
    else wrong(reader, at, `steps wait for each other: ${chain(cycle)}`, 'remove one of these dependencies')
  }
  for (const [name, dependency] of behind) {
    const { path, dependsOn } = byName.get(name) as Step
    const what = dependsOn.length > 1 ? `its join cannot complete` : `it can never run`
    const at = dependencyPath(path, dependency, reader)
    wrong(reader, at, `step '${name}' is dead: ${what}, '${dependency}' never ends`, null)
  }
}

function checkCompensation(workflow: Workflow, byName: ReadonlyMap<string, Step>, reader: Reader): void {
  const seen = new Map<string, Path>()
  for (const { step, path } of workflow.compensation) {
    if (step === '') continue
    const at = [...path, 'step']
    const before = seen.get(step)
    if (before !== undefined) {
      const first = reader.source.locate(before).line
      wrong(reader, at, `step '${step}' is compensated twice`, `the first entry is in line ${first}`)
    }
    seen.set(step, at)
    if (byName.has(step)) continue
    const near = closest(step, [...byName.keys()])
    wrong(
      reader,
      at,
      `there is no step '${step}' to compensate`,
      near === null ? stepsHint([...byName.keys()]) : `did you mean '${near}'?`,
    )
  }
}

/** Templates see the input and the results of what ended before: whatever else they name would quietly be null. */
function checkTemplates(workflow: Workflow, byName: ReadonlyMap<string, Step>, reader: Reader): void {
  const evaluate = newEvaluator()
  const dependsOn = (name: string): readonly string[] => byName.get(name)?.dependsOn ?? []
  const check = (task: Task, path: Path, step: string, seesItself: boolean): void => {
    for (const field of ['action', 'with'] as const) {
      const at = [...path, field]
      const names = namesIn(task[field], evaluate.templateNames, (message) => wrong(reader, at, message, null))
      if (names.length === 0) continue
      const before = new Set([...ancestorsOf(step, dependsOn), ...(seesItself ? [step] : [])])
      for (const [root, key] of names) {
        const problem = problemOf(root as string, key, before, byName)
        if (problem !== null) wrong(reader, at, problem, `names: input, results.STEP of ${listed([...before])}`)
      }
    }
  }
  for (const step of workflow.steps) check(step, step.path, step.name, false)
  for (const entry of workflow.compensation) check(entry, entry.path, entry.step, true)
}

function namesIn(
  template: Json | null,
  names: (template: Json) => readonly (readonly string[])[],
  tell: (message: string) => void,
): readonly (readonly string[])[] {
  try {
    return template === null ? [] : names(template)
  } catch (error) {
    tell(error instanceof Error ? error.message : String(error))
    return []
  }
}

function problemOf(
  root: string,
  key: string | undefined,
  before: ReadonlySet<string>,
  byName: ReadonlyMap<string, Step>,
): string | null {
  if (root === 'results' && key === undefined) return "'results' needs the name of a step: results.STEP"
  const step = root === 'results' ? (key as string) : root
  if (root === 'results' && !byName.has(step)) return `there is no step '${step}'`
  if (byName.get(step)?.workflow) return `step '${step}' is a nested workflow, whose result no template can read`
  if (byName.has(step) && !before.has(step)) return `step '${step}' has not ended by then: it is no dependency`
  return ['ctx', 'args', 'event', 'item'].includes(root) && !byName.has(root) ? `there is no '${root}' here` : null
}

/** The place of one name in dependsOn. */
function dependencyPath(step: Path, dependency: string, reader: Reader): Path {
  const path = [...step, 'dependsOn']
  let value: unknown = reader.source.value
  for (const part of path) value = (value as Record<string | number, unknown> | undefined)?.[part]
  const at = Array.isArray(value) ? value.indexOf(dependency) : -1
  return at < 0 ? path : [...path, at]
}

/** A ring of thousands is shown by its beginning and its end. */
function chain(names: readonly string[]): string {
  const shown = names.length > 30 ? [...names.slice(0, 20), '…', ...names.slice(-5)] : names
  return shown.join(' → ')
}

function stepsHint(names: readonly string[]): string {
  return `steps: ${listed(names)}`
}

function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none'
  return names.length > 12 ? `${names.slice(0, 12).join(', ')}, …` : names.join(', ')
}

function wrong(reader: Reader, path: Path, message: string, hint: string | null): void {
  reader.note({ path, message, hint })
}
