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
    if (!acceptsCoding(request.headers['accept-encoding'], 'gzip')) return
    reply.header('content-encoding', 'gzip').removeHeader('content-length')
    return compress(payload)
  })
}

/** `gzip;q=0` refuses it. */
export function acceptsCoding(header: string | readonly string[] | undefined, coding: 'br' | 'gzip'): boolean {
  const names = coding === 'gzip' ? ['gzip', 'x-gzip'] : [coding]
  const given = [header ?? []]
    .flat()
    .join(',')
    .split(',')
    .map((one) => /^\s*([\w*-]+)\s*(?:;\s*q=([\d.]+)\s*)?$/.exec(one.toLowerCase()))
  const found = given.find((one) => names.includes(one?.[1] ?? '')) ?? given.find((one) => one?.[1] === '*')
  return found != null && Number(found[2] ?? 1) > 0
}
