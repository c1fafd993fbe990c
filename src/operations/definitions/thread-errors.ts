/** Errors sent from a thread: a structured copy would lose their class and all fields besides the message. */
import { type ErrorCode, PetrelError } from '../../kernel/errors.ts'
import { NetError } from '../../net/compile.ts'
import { DefinitionError, type LocatedMistake } from '../../notations/source/mistakes.ts'

export type SentError =
  | { readonly file: string; readonly problems: readonly LocatedMistake[] }
  | { readonly net: string; readonly problems: NetError['problems'] }
  | { readonly code: ErrorCode; readonly message: string; readonly details: PetrelError['details'] }
  | { readonly message: string }

export function sentError(error: unknown): SentError {
  if (error instanceof DefinitionError) return { file: error.file, problems: error.problems }
  if (error instanceof NetError) return { net: error.net, problems: error.problems }
  const { message } = error as Error
  return error instanceof PetrelError ? { code: error.code, message, details: error.details } : { message }
}

export function receivedError(sent: SentError): Error {
  if ('file' in sent) return new DefinitionError(sent.file, sent.problems)
  if ('net' in sent) return new NetError(sent.net, sent.problems)
  return 'code' in sent ? new PetrelError(sent.code, sent.message, sent.details) : new Error(sent.message)
}
