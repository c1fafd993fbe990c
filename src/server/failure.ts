/** Errors as HTTP answers: one body, the status from the one table of error codes. */
import type { FastifyError } from 'fastify'
import { ERROR_TABLE, type ErrorCode, PetrelError } from '../engine/errors.ts'
import { StoreDataError, StoreUnavailableError, StoreUnusableError } from '../store/errors.ts'

export interface ErrorAnswer {
  readonly status: number
  readonly body: {
    readonly error: {
      readonly code: ErrorCode
      readonly message: string
      readonly details: Readonly<Record<string, unknown>>
      readonly request_id: string
    }
  }
}

export function errorAnswer(error: unknown, requestId: string): ErrorAnswer {
  const { code, message, details } = classify(error)
  return { status: ERROR_TABLE[code].http, body: { error: { code, message, details, request_id: requestId } } }
}

function classify(error: unknown): { code: ErrorCode; message: string; details: Readonly<Record<string, unknown>> } {
  if (error instanceof PetrelError) return { code: error.code, message: error.message, details: error.details }
  if (error instanceof StoreUnavailableError)
    return { code: 'unavailable', message: error.message, details: { reason: error.code } }
  if (error instanceof StoreUnusableError)
    return { code: 'unusable_store', message: error.message, details: { reason: error.code } }
  if (error instanceof StoreDataError) return { code: 'unstorable', message: error.message, details: {} }
  const { statusCode, code, message } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE' || statusCode === 413) {
    return { code: 'payload_too_large', message: 'the request body is larger than this server takes', details: {} }
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return {
      code: statusCode === 404 ? 'not_found' : 'invalid_request',
      message: message ?? 'bad request',
      details: {},
    }
  }
  // What went wrong inside is for the log, not for whoever asked.
  return { code: 'engine_error', message: 'something went wrong in the engine', details: {} }
}
