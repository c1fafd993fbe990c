/** /ui/: the dashboard, which is files alone. They contain no data, so they need no key. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { acceptsCoding } from '../../http/compress.ts'
import { isKnown } from '../../http/etag.ts'
import { notFound } from '../../http/request-error.ts'
import { cookieOf } from '../../http/sign-in/cookie.ts'
import { textOf } from '../../wire/requests/params.ts'
import { text } from '../../wire/schema.ts'
import { serverRoute as route } from '../context.ts'
import { type DashboardFile, typeOf } from './files.ts'

const PLACE = '/ui/'
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
  "worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
/** The name of an asset contains a hash of its content. */
const IMMUTABLE = 'public, max-age=31536000, immutable'
const MISSING = `This server has no dashboard: it has not been built.

From the sources:  npm run build
Without it, everything is at /v1: /openapi.json describes it, and \`petrel ls\` lists the instances.
`

/** Also of answers that are errors. */
export function secureUi(app: FastifyInstance): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!/^\/ui(?:[/?]|$)/.test(request.url)) return
    reply.header('content-security-policy', POLICY)
    reply.header('x-content-type-options', 'nosniff')
    reply.header('referrer-policy', 'no-referrer')
    reply.header('cross-origin-opener-policy', 'same-origin')
  })
}

const redirect = { '302': { description: 'To the dashboard.' } }

export const UI_ROUTES = [
  route(
    'GET /',
    {
      tag: 'Server',
      summary: 'The way to the dashboard',
      description: 'With `token`, also signs in: `petrel dev` prints such an address. The redirect has no token in it.',
      does: 'none',
      query: { token: textOf('The token that `petrel dev` prints, or an API key.') },
      otherQuery: 'ignored',
      answers: redirect,
      errors: ['unauthenticated', 'permission_denied'],
    },
    async ({ query: { token }, request, reply }, { authentication }) => {
      reply.header('referrer-policy', 'no-referrer')
      if (token !== null) {
        const made = await authentication.signIn(request, token)
        reply.header('set-cookie', cookieOf(made.token, request))
      }
      return reply.redirect(PLACE, 302)
    },
  ),

  route(
    'GET /ui',
    { tag: 'Server', summary: 'The way to the dashboard', does: 'none', otherQuery: 'ignored', answers: redirect },
    async ({ reply }) => reply.redirect(PLACE, 302),
  ),

  route(
    'GET /ui/assets/:name',
    {
      tag: 'Server',
      summary: 'A file of the dashboard',
      description: 'Its name contains a hash of its content: it never changes. Compressed if the client accepts that.',
      does: 'none',
      otherQuery: 'ignored',
      answers: {
        '200': { description: 'The file.', schema: text(), type: '*/*' },
        '304': { description: 'Unchanged.' },
      },
      errors: ['not_found'],
    },
    async ({ params: { name }, request, reply }, { dashboard }) => {
      const file = await dashboard.find(`assets/${name}`)
      if (file === null) throw notFound('file', name)
      reply.header('cache-control', IMMUTABLE)
      return sendFile(request, reply, file)
    },
  ),

  route(
    'GET /ui/*',
    {
      tag: 'Server',
      summary: 'The dashboard',
      description:
        'Each path below it is a page of the application, which is the same file. Needs no key: it contains no data.',
      does: 'none',
      otherQuery: 'ignored',
      answers: {
        '200': { description: 'The application.', schema: text(), type: 'text/html' },
        '304': { description: 'Unchanged.' },
      },
      errors: ['not_found'],
    },
    async ({ request, reply }, { dashboard }) => {
      const { '*': path = '' } = request.params as { readonly '*'?: string }
      const isFile = typeOf(path) !== undefined
      const file = isFile ? await dashboard.find(path) : isPage(path) ? await dashboard.index() : null
      reply.header('cache-control', 'no-cache')
      if (file !== null) return sendFile(request, reply, file)
      if (isFile || !isPage(path)) throw notFound('file', path)
      return reply.code(404).type('text/plain; charset=utf-8').send(MISSING)
    },
  ),
]

/** Paths that name a folder above are no pages, although nothing would be read by their name. */
function isPage(path: string): boolean {
  return !/(?:^|[/\\])\.\.(?:[/\\]|$)|\0/.test(path)
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: DashboardFile): FastifyReply {
  reply.header('etag', file.etag).header('vary', 'accept-encoding')
  if (isKnown(request, file.etag)) return reply.code(304).send()
  const coding = (['br', 'gzip'] as const).find(
    (name) => file.compressed[name] !== undefined && acceptsCoding(request.headers['accept-encoding'], name),
  )
  if (coding !== undefined) reply.header('content-encoding', coding)
  return reply.type(file.type).send(coding === undefined ? file.body : file.compressed[coding])
}
