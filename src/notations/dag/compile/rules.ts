/** What must hold between the parts of a workflow: names, dependencies, compensation. */

import { MAX_SUGGESTIONS } from '../../../kernel/limits.ts'
import type { Path } from '../../../kernel/reading/mistakes.ts'
import { closest } from '../../../kernel/reading/part.ts'
import { MAX_ARCS, MAX_NODES } from '../../../net/validate/validate.ts'
import { findStuck } from '../../source/dependencies.ts'
import type { Reader } from '../../source/reader.ts'
import { joinsOf } from './joins.ts'
import type { Step, Workflow } from './workflow.ts'

export function checkWorkflow(workflow: Workflow, reader: Reader): void {
  checkSize(workflow, reader)
  const byName = checkNames(workflow.steps, reader)
  checkDependencies(workflow, byName, reader)
  checkCompensation(workflow, byName, reader)
}

/** The net's own bounds, in the terms of the file. */
function checkSize({ steps, path }: Workflow, reader: Reader): void {
  const at = [...path, 'steps']
  if (steps.length > MAX_NODES) {
    wrong(reader, at, `${steps.length} steps; at most ${MAX_NODES} are possible`, 'nest some: workflow: NAME')
  }
  const { arcs } = joinsOf(steps)
  if (arcs <= MAX_ARCS) return
  const message = `${arcs} dependencies, those of steps that wait for the same ones shared; at most ${MAX_ARCS} are possible`
  wrong(reader, at, message, 'let one step wait for many, and the others for that one')
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
      'no_root',
    )
  }
  const { cycles, behind } = findStuck([...byName.values()])
  for (const cycle of cycles) {
    const [first, second] = cycle as readonly [string, string]
    const at = dependencyPath((byName.get(first) as Step).path, second, reader)
    const [what, hint] =
      cycle.length === 2
        ? [`step '${first}' depends on itself`, 'remove it']
        : ['steps wait for each other', 'remove one of these dependencies']
    wrong(reader, at, `${what}: ${chain(cycle)}`, hint, 'cycle')
  }
  for (const [name, dependency] of behind) {
    const { path, dependsOn } = byName.get(name) as Step
    const joins = dependsOn.length > 1
    const what = joins ? `its join cannot complete` : `it can never run`
    const at = dependencyPath(path, dependency, reader)
    const message = `step '${name}' is dead: ${what}, '${dependency}' never ends`
    wrong(reader, at, message, `resolve what '${dependency}' waits for`, joins ? 'join_cannot_complete' : 'dead_step')
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

/** The place of one name in dependsOn. */
function dependencyPath(step: Path, dependency: string, reader: Reader): Path {
  const path = [...step, 'dependsOn']
  let value: unknown = reader.source.value
  for (const part of path) value = (value as Record<string | number, unknown> | undefined)?.[part]
  const at = Array.isArray(value) ? value.indexOf(dependency) : -1
  return at < 0 ? path : [...path, at]
}

/** Of a ring of thousands, only the beginning and the end are shown. */
function chain(names: readonly string[]): string {
  const shown = names.length > 30 ? [...names.slice(0, 20), '…', ...names.slice(-5)] : names
  return shown.join(' → ')
}

function stepsHint(names: readonly string[]): string {
  return `steps: ${listed(names)}`
}

export function listed(names: readonly string[]): string {
  if (names.length === 0) return 'none'
  return names.length > 12 ? `${names.slice(0, 12).join(', ')}, …` : names.join(', ')
}

function wrong(reader: Reader, path: Path, message: string, hint: string | null, rule: string | null = null): void {
  reader.note({ path, message, hint, ...(rule === null ? {} : { rule }) })
}
