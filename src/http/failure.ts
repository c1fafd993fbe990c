/** Errors as HTTP answers: the same body everywhere, with status and hint from one table. */

import type { FastifyError } from 'fastify'
import { ERRORS, type ErrorCode, hintOf, PetrelError } from '../kernel/errors.ts'
import { MAX_LISTED_MISTAKES } from '../kernel/limits.ts'
import { StoreDataError, StoreUnavailableError, StoreUnusableError } from '../kernel/store-errors.ts'
import { DefinitionError } from '../notations/source/mistakes.ts'
import { errorDetailsWire } from '../wire/error-details.ts'
import { OJS_WORDS } from './ojs-words.ts'
import { fullHeaders } from './queue-pressure.ts'
import { RequestError } from './request-error.ts'

export interface ErrorBody {
  readonly error: {
    readonly code: ErrorCode
    readonly type?: string
    readonly message: string
    readonly retryable: boolean
    readonly details: Readonly<Record<string, unknown>>
    readonly hint: string
    readonly docs_url: string
    readonly request_id: string
  }
}

export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: ErrorBody
}

export interface Asked {
  readonly requestId: string
  /** Requested path: under /ojs the codes of OJS are used. */
  readonly url: string
}

export function errorAnswer(error: unknown, { requestId, url }: Asked): ErrorAnswer {
  const failed = classify(error)
  const code = isOjs(url) ? (OJS_WORDS[failed.code] ?? failed.code) : failed.code
  const body = {
    code,
    ...(failed.type === null ? {} : { type: failed.type }),
    message: failed.message,
    retryable: failed.retryable,
    details: failed.details,
    hint: failed.hint ?? ERRORS[failed.code].hint,
    docs_url: `/docs/errors#${code}`,
    request_id: requestId,
  }
  return { status: failed.status, headers: failed.headers, body: { error: body } }
}

export function isOjs(url: string): boolean {
  return /^\/ojs(?:[/?]|$)/.test(url)
}

interface Failed {
  readonly code: ErrorCode
  readonly type: string | null
  readonly status: number
  readonly retryable: boolean
  readonly message: string
  readonly details: Readonly<Record<string, unknown>>
  readonly hint: string | null
  readonly headers: Readonly<Record<string, string>>
}

function classify(error: unknown): Failed {
  if (error instanceof RequestError) return error
  if (error instanceof DefinitionError) return ofDefinition(error)
  if (error instanceof PetrelError) {
    const hint = hintOf(error.details)
    const details = errorDetailsWire(error.code, error.details)
    const headers = error.code === 'QUEUE_FULL' ? fullHeaders(error.details) : {}
    const known = failed(error.code, error.message, { details, headers, ...(hint === null ? {} : { hint }) })
    return error.details['out_of_range'] === true ? { ...known, status: 422, type: 'validation_error' } : known
  }
  if (error instanceof StoreUnavailableError) {
    return failed('unavailable', error.message, { details: { reason: error.code }, headers: { 'retry-after': '1' } })
  }
  if (error instanceof StoreUnusableError)
    return failed('unusable_store', error.message, { details: { reason: error.code } })
  if (error instanceof StoreDataError) return failed('unstorable', error.message)
  return fromFramework(error as Partial<FastifyError>)
}

/** The first mistake in the message, all of them in the details, in the form that the CLI prints with --json. */
function ofDefinition({ code, file, problems }: DefinitionError): Failed {
  const [first] = problems
  const where = first === undefined ? file : `${first.file ?? file}:${first.line}:${first.column}`
  const what =
    first === undefined ? 'not a valid definition' : `${first.path === '' ? '' : `${first.path}: `}${first.message}`
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  return failed(code, `${where}: ${what}${more}`, {
    details: { file, problems: problems.slice(0, MAX_LISTED_MISTAKES) },
    ...(first?.hint == null ? {} : { hint: first.hint }),
  })
}

function fromFramework({ code, statusCode, message }: Partial<FastifyError>): Failed {
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return failed('invalid_request', 'the body is of a media type this server does not read', {
      hint: 'Send JSON, with the header "Content-Type: application/openjobspec+json" or "application/json".',
    })
  }
  if (statusCode === 413) return failed('payload_too_large', 'the request body is larger than this server takes')
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return failed(statusCode === 404 ? 'not_found' : 'invalid_request', message ?? 'bad request')
  // Internal errors are logged, and not shown to the client.
  return failed('engine_error', 'something went wrong in the engine')
}

function failed(
  code: ErrorCode,
  message: string,
  more: { readonly details?: Failed['details']; readonly hint?: string; readonly headers?: Failed['headers'] } = {},
): Failed {
  const { status, retryable } = ERRORS[code]
  return {
    code,
    type: null,
    status,
    retryable,
    message,
    details: more.details ?? {},
    hint: more.hint ?? null,
    headers: more.headers ?? {},
  }
}
