/**
 * Reads one definition in a separate thread (thread.ts), and plans it. Other definitions are requested from the parent
 * thread.
 */

import { parentPort, workerData } from 'node:worker_threads'
import { planApart } from '../../engine/planning.ts'
import type { Startable, StartLimits } from '../../model/start.ts'
import { readInPlace } from '../../notations/read.ts'
import type { DefinitionText } from '../../notations/source/named-definitions.ts'
import { VOCABULARIES } from '../../notations/vocabularies.ts'
import { planned } from './read.ts'
import type { FromThread, ThreadTask, ToThread } from './thread.ts'
import { sentError } from './thread-errors.ts'

const port = parentPort as NonNullable<typeof parentPort>
const { file, text, strict, resolves, names, limits } = workerData as ThreadTask
const open = new Map<number, (answer: unknown) => void>()
let asked = 0

port.on('message', ({ id, answer }: ToThread) => {
  open.get(id)?.(answer)
  open.delete(id)
})

function ask(question: { readonly resolve: string } | { readonly names: true }): Promise<unknown> {
  const id = asked++
  return new Promise((resolve) => {
    open.set(id, resolve)
    tell({ id, ...question })
  })
}

function tell(message: FromThread): void {
  port.postMessage(message)
}

try {
  const definition = await readInPlace(file, text, {
    ...(strict === undefined ? {} : { strict }),
    ...(resolves ? { resolve: async (name: string) => (await ask({ resolve: name })) as DefinitionText | null } : {}),
    ...(names ? { names: async () => (await ask({ names: true })) as readonly string[] } : {}),
  })
  const plan = (start: Startable) => planApart(start, VOCABULARIES, limits as StartLimits)
  tell({ answer: limits === null ? { definition } : { planned: planned(definition, plan) } })
} catch (error) {
  tell({ error: sentError(error) })
}
port.close()
