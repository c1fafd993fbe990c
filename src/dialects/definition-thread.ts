/** Reads one definition in a thread of its own (thread.ts). Other definitions are asked of the thread that began it. */
import { parentPort, workerData } from 'node:worker_threads'
import { readHere } from './definition.ts'
import { DefinitionError } from './mistakes.ts'
import type { DefinitionText } from './others.ts'
import type { FromThread, ThreadTask, ToThread } from './thread.ts'

const port = parentPort as NonNullable<typeof parentPort>
const { file, text, strict, resolves, names } = workerData as ThreadTask
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
  const definition = await readHere(file, text, {
    ...(strict === undefined ? {} : { strict }),
    ...(resolves ? { resolve: async (name: string) => (await ask({ resolve: name })) as DefinitionText | null } : {}),
    ...(names ? { names: async () => (await ask({ names: true })) as readonly string[] } : {}),
  })
  tell({ definition })
} catch (error) {
  if (error instanceof DefinitionError) tell({ wrong: { file: error.file, problems: error.problems } })
  else tell({ failed: (error as Error).message })
}
port.close()
