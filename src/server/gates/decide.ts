/**
 * GET and POST /gates/decide/:token: one person decides one gate by a signed link. A browser gets pages; a client that
 * accepts JSON gets JSON. A GET changes nothing, so that programs which open links in mails do not decide.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { bodyObject } from '../../http/body.ts'
import { mount, routeOf } from '../../http/describe/route.ts'
import { errorAnswer } from '../../http/failure.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { Misfit } from '../../kernel/json-schema.ts'
import type { Logger } from '../../kernel/logger.ts'
import type { GateView } from '../../model/gates.ts'
import type { Json } from '../../net/net.ts'
import { openLink, voteByLink } from '../../operations/gates/gates.ts'
import { DECIDE_PATH, type Invitation } from '../../operations/gates/link.ts'
import type { Operations } from '../../operations/operation.ts'
import { gateViewWire } from '../../wire/gate.ts'
import { checked } from '../../wire/mistaken.ts'
import { answerOf, DECISION } from '../../wire/requests/decision.ts'
import { asked, text, word } from '../../wire/schema.ts'
import type { Wire } from '../../wire/value.ts'
import { answerFrom, shapeOf } from './form.ts'
import { decidePage, refusalPage } from './page.ts'
import { GateDecided, votedWire } from './routes.ts'

interface Decision {
  readonly approved: boolean
  readonly answer?: Json
  readonly reason?: string
}

const FORM = 'application/x-www-form-urlencoded'
const FIELD = 'answer.'
const LARGEST_FORM = 1024 * 1024
const POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

/** On a separate app: only here a form may be sent, and only here errors are pages. */
export function decideRoutes(
  app: FastifyInstance,
  { operations, logger }: { readonly operations: Operations; readonly logger: Logger | null },
): void {
  app.addContentTypeParser(FORM, { parseAs: 'string', bodyLimit: LARGEST_FORM }, (_, body, done) => {
    done(null, new URLSearchParams(body as string))
  })
  app.addHook('onRequest', async (_, reply) => {
    reply.header('content-security-policy', POLICY)
    reply.header('referrer-policy', 'no-referrer')
    reply.header('x-robots-tag', 'noindex')
  })
  app.setErrorHandler((error, request, reply) => {
    const { status, headers, body } = errorAnswer(error, { requestId: request.id, url: DECIDE_PATH })
    // Without the token: readers of the log must not be able to decide.
    if (status >= 500) logger?.error({ err: error, request: request.id, url: DECIDE_PATH }, 'request failed')
    reply.code(status).headers(headers)
    if (wantsPage(request)) return page(reply, refusalPage(body.error.message, status))
    return reply.type('application/json; charset=utf-8').send(body)
  })
  mount(app, DECIDE_ROUTES, { operations })
}

export interface DecideContext {
  readonly operations: Operations
}

const route = routeOf<DecideContext>()

const DecisionRequest = asked('a decision', {
  decision: word(['approve', 'reject'], { hint: 'approve or reject' }),
  ...DECISION,
})

export const DECIDE_ROUTES = [
  route(
    `GET ${DECIDE_PATH}:token`,
    {
      tag: 'Gates',
      summary: 'Show the gate of a link',
      description: 'A page for browsers (`Accept: text/html`), else JSON. Changes nothing.',
      does: openLink,
      answers: {
        '200': { description: 'The page.', schema: text(), type: 'text/html' },
      },
      errors: ['permission_denied', 'not_found'],
    },
    async ({ params, perform, request, reply }) => {
      const invited = await perform(openLink, params)
      const { view, invitation } = invited
      if (!wantsPage(request)) return reply.send({ gate: gateViewWire(view), invitation: invitationWire(invitation) })
      return page(reply, decidePage({ ...invited, problem: null, sent: null }))
    },
  ),

  route(
    `POST ${DECIDE_PATH}:token`,
    {
      tag: 'Gates',
      summary: 'Decide by a link',
      description: 'The form of the page, or JSON. A browser is redirected to the page.',
      does: voteByLink,
      body: { schema: DecisionRequest, readByRoute: true, example: { decision: 'approve', reason: 'fine' } },
      answers: { '200': { description: 'The vote counts.', schema: GateDecided } },
      errors: ['permission_denied', 'not_found', 'conflict'],
    },
    async ({ params, perform, request, reply }) => {
      const { view } = await perform(openLink, params)
      const sent = request.body instanceof URLSearchParams ? request.body : null
      try {
        const decision = sent === null ? decisionOf(request) : decisionSent(view, sent)
        const voted = await perform(voteByLink, { ...params, ...decision })
        if (!wantsPage(request)) return votedWire(voted)
      } catch (error) {
        // The entered values survive a mistake.
        if (sent === null || !wantsPage(request) || !(error instanceof PetrelError)) throw error
        const { status } = errorAnswer(error, { requestId: request.id, url: DECIDE_PATH })
        const problem = problemOf(error)
        return page(reply.code(status), decidePage({ ...(await perform(openLink, params)), problem, sent }))
      }
      return reply.redirect(request.url, 303)
    },
  ),
]

/** The person filled in a form: its fields have their own names. */
function problemOf({ message, details }: PetrelError): string {
  const misfits = details['validation_errors'] as readonly Misfit[] | undefined
  if (misfits === undefined) return message
  const nameOf = (path: string): string => (path.startsWith(FIELD) ? path.slice(FIELD.length) : path)
  return misfits.map((misfit) => `${nameOf(misfit.path)}: ${misfit.message}`).join('; ')
}

function decisionOf(request: FastifyRequest): Decision {
  const body = checked(DecisionRequest, bodyObject(request, { empty: 'refused' }))
  return { approved: body.decision === 'approve', ...answerOf(body) }
}

function decisionSent(view: GateView, sent: URLSearchParams): Decision {
  const word = sent.get('decision')
  if (word !== 'approve' && word !== 'reject') throw new PetrelError('invalid_request', 'approve or reject?')
  const reason = (sent.get('reason') ?? '').trim()
  const about = reason === '' ? {} : { reason }
  if (word === 'reject') return { approved: false, ...about }
  const answer = answerSent(view, sent)
  return { approved: true, ...about, ...(answer === undefined ? {} : { answer }) }
}

function answerSent(view: GateView, sent: URLSearchParams): Json | undefined {
  try {
    return answerFrom(shapeOf(view.standing.options.form), sent)
  } catch (error) {
    throw new PetrelError('invalid_request', `the answer is not JSON: ${(error as Error).message}`)
  }
}

function invitationWire({ id, subject, roles, expiresAt }: Invitation): Wire {
  return { link: id, subject, roles, expires_at: new Date(expiresAt).toISOString() }
}

function wantsPage(request: FastifyRequest): boolean {
  return (request.headers.accept ?? '').includes('text/html')
}

function page(reply: FastifyReply, text: string): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(text)
}
