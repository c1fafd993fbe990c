/** Every node key and type of a definition, nested nets and literal items included. */

import type { ChildStart, Item } from '../../model/start.ts'
import type { Net } from '../../net/net.ts'
import { isStep } from '../../notations/playbook/project/words.ts'
import type { SagaProgram } from '../../notations/saga/compile/program.ts'
import type { Definition } from '../../notations/source/definition.ts'
import { kindsAt } from '../playbook-tools.ts'

export interface Names {
  readonly nodes: ReadonlySet<string>
  readonly types: ReadonlySet<string>
  /** Kinds of the tasks in the steps of playbooks. */
  readonly tools: ReadonlySet<string>
  /** The subjects of a saga's commands. */
  readonly subjects: ReadonlySet<string>
}

export function namesOf(definition: Definition): Names {
  const nodes = new Set<string>()
  const types = new Set<string>()
  const tools = new Set<string>()
  const subjects = new Set<string>()
  for (const net of [definition.start.net, ...(definition.start.nets ?? [])]) {
    addNet(net, nodes, types)
    for (const node of net.dialect === 'playbook' ? net.nodes : []) for (const kind of kindsAt(node)) tools.add(kind)
    for (const { work } of net.dialect === 'saga' ? net.nodes : []) {
      if (work.kind === 'run') subjects.add((work.program as unknown as SagaProgram).subject)
    }
  }
  addItems(definition.start, types)
  return { nodes, types, tools, subjects }
}

function addNet(net: Net, nodes: Set<string>, types: Set<string>): void {
  for (const { key, work, undo } of net.nodes) {
    // The author does not know the joins that steps share.
    if (net.dialect === 'dag' && work.kind === 'pass') continue
    if (net.dialect === 'playbook' && !isStep(key)) continue
    nodes.add(key)
    if (work.kind === 'run') types.add(work.type)
    if (work.kind === 'each' && work.body?.kind === 'run') types.add(work.body.type)
    if (undo !== null) types.add(undo.work.type)
  }
}

function addItems(start: ChildStart, types: Set<string>): void {
  for (const items of Object.values(start.items ?? {})) for (const item of items) addItem(item, types)
  for (const literal of Object.values(start.literals ?? {}))
    if (literal.start !== undefined) addItems(literal.start, types)
}

function addItem(item: Item, types: Set<string>): void {
  if (typeof item !== 'object' || item === null) return
  if ('run' in item) types.add((item.run as { readonly type: string }).type)
  else if ('child' in item && 'start' in item) addItems(item.start as ChildStart, types)
}
