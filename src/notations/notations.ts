/** The table of notations. A new notation is one more line. */
import { dag } from './dag/notation.ts'
import type { Notation, Programs } from './interface/notation.ts'
import { plain } from './interface/plain.ts'
import type { Projection } from './interface/projection.ts'
import { net } from './net/notation.ts'
import { ojs } from './ojs/notation.ts'
import { playbook } from './playbook/notation.ts'
import { saga } from './saga/notation.ts'

export const NOTATIONS: readonly Notation[] = [net, dag, playbook, saga, ojs]

/** null: there is no notation of that name; nets built by programs may have any name. */
export function notationOf({ dialect }: { readonly dialect: string }): Notation | null {
  return NOTATIONS.find(({ name }) => name === dialect) ?? null
}

export function projectionOf(of: { readonly dialect: string }): Projection {
  return notationOf(of)?.project ?? plain
}

/** Of runs of this type; null: its handler does the work. */
export function programsOf(type: string): Programs | null {
  return NOTATIONS.find(({ programs }) => programs?.owns(type))?.programs ?? null
}
