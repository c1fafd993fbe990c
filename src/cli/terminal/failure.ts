/**
 * How a command fails: one line with the problem, one with the correct form, and the exit code from the table of error
 * codes. A stack is shown only with PETREL_DEBUG=1.
 */

import { ERRORS, type ErrorCode, hintOf, PetrelError, shellHintOf } from '../../kernel/errors.ts'
import { MAX_LISTED_MISTAKES } from '../../kernel/limits.ts'
import { StoreError, StoreUnavailableError, StoreUnusableError } from '../../kernel/store-errors.ts'
import { DefinitionError } from '../../notations/source/mistakes.ts'
import { errorDetailsWire } from '../../wire/error-details.ts'
import { harmless, type Terminal } from './terminal.ts'

export const EXIT = { ok: 0, failed: 1, usage: 2, notFound: 3, denied: 4 } as const

/** A mistake that the user of the shell can correct. */
export class CliError extends PetrelError {
  readonly hint: string
  constructor(code: ErrorCode, message: string, hint: string, details: Readonly<Record<string, unknown>> = {}) {
    super(code, message, details)
    this.name = 'CliError'
    this.hint = hint
  }
}

export interface Failed {
  readonly code: string
  readonly exit: number
  readonly message: string
  readonly hint: string | null
  readonly details: Readonly<Record<string, unknown>>
}

export function describeFailure(error: unknown): Failed {
  if (error instanceof CliError) return failed(error.code, error.message, error.hint, error.details)
  if (error instanceof DefinitionError) {
    return failed('invalid_definition', `${error.file} is not a valid definition`, `petrel check ${error.file}`, {
      file: error.file,
      problems: error.problems,
    })
  }
  if (error instanceof PetrelError) {
    const { code, message, details } = error
    return failed(code, message, hintOf(details) ?? shellHintOf(code), errorDetailsWire(code, details))
  }
  if (error instanceof StoreUnusableError) {
    return failed('unusable_store', error.message, storeHint(error.code), { reason: error.code })
  }
  if (error instanceof StoreUnavailableError)
    return failed('unavailable', error.message, shellHintOf('unavailable'), { reason: error.code })
  if (error instanceof StoreError)
    return failed('engine_error', error.message, shellHintOf('engine_error'), { reason: error.code })
  if (hasKnownCode(error)) return failed(error.code, error.message, shellHintOf(error.code), {})
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
  return failed('engine_error', message, shellHintOf('engine_error'), {})
}

export function reportFailure(terminal: Terminal, error: unknown): number {
  const { code, exit, message, hint, details } = describeFailure(error)
  if (terminal.json) {
    const body = { code, message, details: hint === null ? details : { ...details, hint } }
    terminal.error(JSON.stringify({ error: body }))
  } else {
    terminal.error(`petrel: ${harmless(message)}`)
    if (error instanceof DefinitionError) for (const line of problemLines(error)) terminal.error(line)
    else if (hint !== null) terminal.error(`  ${harmless(hint)}`)
  }
  if (process.env['PETREL_DEBUG'] === '1' && error instanceof Error) terminal.error(error.stack ?? '')
  return exit
}

/** `file:line:column: what is wrong`, and below it the correct form. */
export function problemLines(error: Pick<DefinitionError, 'file' | 'problems'>, kind = ''): readonly string[] {
  const more = error.problems.length - MAX_LISTED_MISTAKES
  const lines = error.problems.slice(0, MAX_LISTED_MISTAKES).flatMap((p) => {
    const where = `${p.file ?? error.file}:${p.line}:${p.column}:`
    const first = `${where} ${kind}${p.path === '' ? '' : `${p.path}: `}${p.message}`
    return p.hint === null ? [first] : [first, `  ${p.hint}`]
  })
  return more > 0 ? [...lines, `… and ${more} more`] : lines
}

function failed(code: ErrorCode, message: string, hint: string | null, details: Failed['details']): Failed {
  return { code, exit: ERRORS[code].exit, message, hint, details }
}

function hasKnownCode(error: unknown): error is Error & { readonly code: ErrorCode } {
  return error instanceof Error && 'code' in error && Object.hasOwn(ERRORS, String(error.code))
}

function storeHint(code: string): string {
  if (code === 'unknown_store')
    return 'name it with --store, or PETREL_STORE; without either it is sqlite:.petrel/petrel.db'
  if (code === 'schema_newer' || code === 'schema_changed')
    return 'use the version of Petrel that wrote it, or name another with --store'
  if (code === 'corrupt' || code === 'not_a_database')
    return 'restore it from a backup, or name another with --store or --data'
  if (code === 'not_migrated' || code === 'schema_missing') return '`petrel migrate` brings it up to date'
  return 'name another with --store or --data'
}
