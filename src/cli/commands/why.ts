/** why: what an instance or a run waits for, for the person on call. */

import type { Command } from 'commander'
import type { InstanceRow } from '../../model/rows.ts'
import { projectionOf } from '../../notations/notations.ts'
import { explainInstance } from '../../operations/instances/look.ts'
import type { Perform } from '../../operations/operation.ts'
import { explainRun, showRun } from '../../operations/runs/look.ts'
import type { Why } from '../../views/why.ts'
import type { InstanceReason, Reason, Wait } from '../../views/why-reasons.ts'
import { whyRunWire, whyWire } from '../../wire/why.ts'
import { aboutWords, namesAsked, reasonWords } from '../../wire/why-words.ts'
import { isRun } from '../lookup.ts'
import { withOperations } from '../process/connect.ts'
import { act, jsonOption, type Shared, storeOptions, wholeNumber } from '../terminal/act.ts'
import { EXIT } from '../terminal/failure.ts'
import { contextHint } from '../terminal/hints.ts'
import { moments } from '../terminal/moments.ts'
import { harmless, type Terminal } from '../terminal/terminal.ts'
import { paintState, placeOf, runState } from '../terminal/words.ts'

interface WhyOptions extends Shared {
  readonly limit: number
  readonly after?: string
}

export function defineWhy(program: Command): void {
  const command = program
    .command('why')
    .argument('<id>', 'instance or run')
    .description('what an instance (or run) waits for, step by step')
    .option('--limit <n>', 'how many steps', wholeNumber(1, 'limit'), 20)
    .option('--after <place>', 'continue where the last page ended')
  jsonOption(storeOptions(command)).action(
    act<WhyOptions, readonly [string]>((terminal, options, id) =>
      withOperations(options, async (perform) => {
        if (await isRun(perform, id)) return whyRun(terminal, perform, id)
        const why = await perform(explainInstance, { id, after: options.after ?? null, limit: options.limit })
        if (terminal.json) terminal.data(whyWire(why))
        else printWhy(terminal, why, id)
        return EXIT.ok
      }),
    ),
  )
}

async function whyRun(terminal: Terminal, perform: Perform, id: string): Promise<number> {
  const [run, why] = [await perform(showRun, { id }), await perform(explainRun, { id })]
  if (terminal.json) {
    terminal.data(whyRunWire(why))
    return EXIT.ok
  }
  terminal.print(`${terminal.paint('bold', harmless(run.type))}  ${paintState(terminal, runState(run, why.now))}`)
  if (run.instanceId !== null) terminal.print(`of ${run.instanceId}, ${harmless(placeOf(run))}`)
  if (why.reasons.length === 0) terminal.print('it has ended and waits for nothing')
  for (const line of reasonLines(why.reasons, why.now)) terminal.print(line)
  return EXIT.ok
}

function printWhy(terminal: Terminal, { instance, now, about, waits, next }: Why, id: string): void {
  const head = [
    terminal.paint('bold', harmless(instance.name)),
    paintState(terminal, projectionOf(instance).state(instance)),
    instance.id,
  ]
  terminal.print(head.join('  '))
  const m = moments(now)
  for (const reason of about) {
    terminal.print(harmless(aboutWords(reason, m)))
    for (const hint of aboutHints(reason, instance)) terminal.print(`  ${hint}`)
  }
  if (instance.deadlineAt !== null) terminal.print(`times out ${m.when(instance.deadlineAt)}`)
  if (waits.length > 0) terminal.print()
  for (const line of waitLines(waits, now, '')) terminal.print(line)
  if (next !== null) terminal.print(terminal.paint('dim', `more: petrel why ${id} --after ${next}`))
}

/** Node and state in columns; each further reason on a line below. */
function waitLines(waits: readonly Wait[], now: number, indent: string): readonly string[] {
  const names = waits.map(nameOf)
  const wide = Math.min(30, Math.max(0, ...names.map((name) => name.length)))
  return waits.flatMap((wait, i) => {
    const label = `${(names[i] as string).padEnd(wide)}  ${wait.state.padEnd(9)}  `
    return reasonLines(wait.reasons, now).map(
      (line, n) => `${indent}${n === 0 ? label : ' '.repeat(label.length)}${line}`,
    )
  })
}

function reasonLines(reasons: readonly Reason[], now: number): readonly string[] {
  const m = moments(now)
  return reasons.flatMap((reason) => {
    const lines = [harmless(reasonWords(reason, m)), ...hints(reason).map((hint) => `  ${hint}`)]
    if (reason.kind !== 'child') return lines
    const about = reason.about.map((one) => `  ${harmless(aboutWords(one, m))}`)
    const more = reason.more ? [`  more: petrel why ${reason.child.id}`] : []
    return [...lines, ...about, ...waitLines(reason.waits, now, '  '), ...more]
  })
}

function nameOf({ node, item, role }: Wait): string {
  return harmless(placeOf({ node, item: item ?? -1, role }))
}

/** Commands that would help. */
function hints(reason: Reason): readonly string[] {
  switch (reason.kind) {
    case 'admission':
      return [contextHint(reason.instance, namesAsked(reason.rules))]
    case 'gate':
      return [`petrel approve ${reason.gate}`]
    case 'paused':
      return [resumeHint(reason)]
    case 'disabled':
      return [`petrel registry enable ${reason.type}`]
    default:
      return []
  }
}

function resumeHint(reason: Extract<Reason | InstanceReason, { readonly kind: 'paused' }>): string {
  switch (reason.what) {
    case 'instance':
      return `petrel resume ${reason.instance}`
    case 'definition':
      return `petrel definitions resume ${reason.definition}`
    case 'type':
      return `petrel registry resume ${reason.type}`
    case 'queue':
      return `petrel queues --resume ${reason.queue}`
  }
}

function aboutHints(reason: InstanceReason, { id }: InstanceRow): readonly string[] {
  if (reason.kind === 'idle') return [`petrel start ${id}`]
  if (reason.kind === 'paused') return [resumeHint(reason)]
  return reason.kind === 'ended' && reason.state !== 'completed' ? [`petrel show ${id}`, `petrel retry ${id}`] : []
}
