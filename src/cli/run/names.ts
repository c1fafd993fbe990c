/** Every node key and type of a definition, nested nets and literal items included. */

import type { ChildStart, Item } from '../../model/start.ts'
import type { Node } from '../../net/net.ts'
import { projectionOf } from '../../notations/notations.ts'
import type { Definition } from '../../notations/source/definition.ts'

export interface Names {
  readonly nodes: ReadonlySet<string>
  readonly types: ReadonlySet<string>
  /** What the work needs beside handlers, in the words of the notations: tools, subjects. */
  readonly uses: ReadonlyMap<string, ReadonlySet<string>>
}

export function namesOf(definition: Definition): Names {
  const nodes = new Set<string>()
  const types = new Set<string>()
  const uses = new Map<string, Set<string>>()
  for (const net of [definition.start.net, ...(definition.start.nets ?? [])]) {
    const project = projectionOf(net)
    addNodes(project.steps.nodes(net), nodes, types)
    if (project.uses === undefined) continue
    const { name, of } = project.uses
    const used = uses.get(name) ?? new Set()
    for (const one of of(net)) used.add(one)
    if (used.size > 0) uses.set(name, used)
  }
  addItems(definition.start, types)
  return { nodes, types, uses }
}

function addNodes(shown: readonly Node[], nodes: Set<string>, types: Set<string>): void {
  for (const { key, work, undo } of shown) {
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
