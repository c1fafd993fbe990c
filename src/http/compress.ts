/**
 * Compresses the answers of routes that ask for it: pictures of thousands of rows, which gzip makes eight times as short.
 * Other answers are short, or streams. The work is done by a thread of the pool.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'

/** Shorter answers would gain nothing. */
const LEAST_CHARACTERS = 1_024

const compress = promisify(gzip)

export function compressAnswers(app: FastifyInstance): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (request.routeOptions.config.compressed !== true) return
    reply.header('vary', 'accept-encoding')
    if (typeof payload !== 'string' || payload.length < LEAST_CHARACTERS) return
    if (!acceptsGzip(request.headers['accept-encoding'])) return
    reply.header('content-encoding', 'gzip').removeHeader('content-length')
    return compress(payload)
  })
}

/** `gzip;q=0` refuses it. */
export function acceptsGzip(header: string | readonly string[] | undefined): boolean {
  return [header ?? []]
    .flat()
    .join(',')
    .split(',')
    .some((one) => /^\s*(?:gzip|x-gzip|\*)\s*(?:;\s*q=(?:1(?:\.0*)?|0?\.\d*[1-9]\d*))?\s*$/i.test(one))
}
