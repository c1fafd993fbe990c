/** The working directory of a child process, and why a process could not be started. */
import { stat } from 'node:fs/promises'
import { type Fault, misfit, ToolFault } from '../envelope.ts'
import { given } from '../fields.ts'
import type { Fields, Problem } from '../tool.ts'

/**
 * null: the worker's directory. Checked before the start: the system reports a missing folder and a missing program
 * alike.
 */
export async function folderOf(config: Fields): Promise<string | null> {
  const cwd = given(config, 'cwd')
  if (cwd === undefined) return null
  if (typeof cwd !== 'string') throw misfit('cwd must be the path of a folder')
  const found = await stat(cwd).catch(() => null)
  if (found?.isDirectory()) return cwd
  throw new ToolFault({ kind: 'not_found', code: 'CWD_NOT_FOUND', message: `cwd ${cwd} is not a folder` })
}

export function checkFolder(config: Fields): Problem[] {
  return config['cwd'] === '' ? [{ path: ['cwd'], message: 'cwd is empty', hint: 'Leave it out.' }] : []
}

export function notStarted(program: string, problem: NodeJS.ErrnoException | null): Fault {
  if (problem?.code === 'ENOENT') {
    const message = `${program} is not installed where this worker runs`
    return { kind: 'unsupported', code: 'PROGRAM_MISSING', message, details: { program } }
  }
  if (problem?.code === 'E2BIG') {
    const message = 'the command is longer than the system allows; write it to a file, or pass its data on'
    return { kind: 'client_error', code: 'COMMAND_TOO_LONG', message }
  }
  const message = `${program} could not be started: ${problem?.message ?? 'no reason is known'}`
  // Too many processes or files, or too little memory: temporary.
  const retryable = ['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'].includes(problem?.code ?? '')
  return { kind: 'unknown', code: problem?.code ?? 'NOT_STARTED', message, retryable }
}
