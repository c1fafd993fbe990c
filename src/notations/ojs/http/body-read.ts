/** Bodies that are read by the readers of ojs/compile, which also read workflows: every mistake is noted with its place. */
import type { FastifyRequest } from 'fastify'
import { bodyObject } from '../../../http/body.ts'
import { BodyNotes, type Part } from '../../../kernel/reading/part.ts'
import { type Body, refuseMistakes } from '../../../wire/mistaken.ts'
import { isRetryMistake } from '../compile/retry.ts'

export function bodyRead<T>(request: FastifyRequest, read: (part: Part) => T): T {
  return readWith(bodyObject(request, { empty: 'refused' }), read)
}

export function readWith<T>(body: Body, read: (part: Part) => T): T {
  const notes = new BodyNotes()
  const value = read(notes.root(body))
  refuseNoted(notes)
  return value
}

/** A wrong retry policy has a status of its own. */
export function refuseNoted(notes: BodyNotes): void {
  refuseMistakes(notes, isRetryMistake)
}
