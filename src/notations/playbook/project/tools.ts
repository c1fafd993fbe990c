/** What the steps of playbooks are made of, read off their nodes. */
import type { Node, Work } from '../../../net/net.ts'
import type { Program } from '../runtime/program.ts'

/** `http, python`; a loop of them, a sub-playbook, or only routing. */
export function toolsOf(node: Node): string {
  const kinds = kindsAt(node).join(', ')
  return node.work.kind === 'each' ? `loop of ${kinds}` : kinds
}

export function kindsAt({ work }: Node): readonly string[] {
  if (work.kind === 'pass') return ['noop']
  return work.kind === 'each' ? (work.body === null ? [] : kindsOf(work.body)) : kindsOf(work)
}

function kindsOf(work: Work): readonly string[] {
  if (work.kind === 'child') return ['playbook']
  const program = work.kind === 'run' ? (work.program as Partial<Program> | undefined) : undefined
  return [...new Set((program?.tasks ?? []).map(({ kind }) => kind))]
}
