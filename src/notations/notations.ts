/** The table of notations. A new one joins by a line here. */
import { dag } from './dag/notation.ts'
import type { Notation } from './interface/notation.ts'
import { net } from './net/notation.ts'
import { ojs } from './ojs/notation.ts'
import { playbook } from './playbook/notation.ts'
import { saga } from './saga/notation.ts'

export const NOTATIONS: readonly Notation[] = [net, dag, playbook, saga, ojs]
