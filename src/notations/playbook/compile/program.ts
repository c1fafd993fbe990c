/** A step as a program for the worker. */

import type { Mention } from '../check/mentions.ts'
import type { Rule, Secret, Step, Task } from '../read/playbook.ts'
import type { Reading } from '../read/reading.ts'
import type { KeychainEntry, Program, Rule as ProgramRule, Task as ProgramTask } from '../runtime/program.ts'

export function programOf(
  step: Step,
  mentions: readonly Mention[],
  keychain: ReadonlyMap<string, Secret>,
  reading: Reading,
): Program {
  const tasks = step.tasks.length > 0 ? step.tasks : [standIn(step)]
  return {
    step: step.name,
    iterator: step.loop?.iterator ?? null,
    input: step.input,
    tasks: tasks.map((task) => taskOf(task, keychain, reading)),
    keychain: entriesOf(step, mentions, keychain),
  }
}

/** A step without a tool that must be a run nevertheless: in a cycle of steps that only route. */
function standIn(step: Step): Task {
  return {
    label: `${step.name}_task`,
    kind: 'noop',
    config: {},
    places: {},
    input: null,
    inputPath: step.path,
    rules: [],
    onUnmatched: 'fail',
    set: null,
    timeoutMs: null,
    path: step.path,
  }
}

function taskOf(task: Task, keychain: ReadonlyMap<string, Secret>, reading: Reading): ProgramTask {
  const { label, kind, config, input, rules, onUnmatched, set, timeoutMs, path } = task
  const named = authEntry(task, keychain)
  return {
    label,
    kind,
    config: named === null ? config : { ...config, auth: `{{ keychain.${named} }}` },
    input,
    rules: rules.map((rule) => ruleOf(rule, reading)),
    onUnmatched,
    set,
    timeoutMs,
    line: reading.line(path),
  }
}

function ruleOf({ path, thenPath: _, ...rule }: Rule, reading: Reading): ProgramRule {
  return { ...rule, line: reading.line(path) }
}

/** `auth: NAME` with the bare name of an entry means the entry. */
export function authEntry({ config }: Task, keychain: ReadonlyMap<string, Secret>): string | null {
  const { auth } = config
  return typeof auth === 'string' && /^\w+$/.test(auth) && keychain.has(auth) ? auth : null
}

function entriesOf(
  step: Step,
  mentions: readonly Mention[],
  keychain: ReadonlyMap<string, Secret>,
): readonly KeychainEntry[] {
  const names = new Set<string>()
  for (const { name } of mentions) if (name[0] === 'keychain' && name[1] !== undefined) names.add(name[1])
  for (const task of step.tasks) {
    const named = authEntry(task, keychain)
    if (named !== null) names.add(named)
  }
  return [...names].sort().flatMap((name) => {
    const { kind, map, ref } = keychain.get(name) as Secret
    return kind === null ? [] : [{ name, kind, map, ref }]
  })
}
