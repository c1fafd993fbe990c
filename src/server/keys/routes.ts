/** /v1/keys: who may use the server. */
import { parseDuration } from '../../kernel/duration.ts'
import type { KeyRow } from '../../model/rows.ts'
import { SCOPES } from '../../operations/caller.ts'
import { addKey, listKeys, revokeKey } from '../../operations/keys/keys.ts'
import {
  asked,
  line,
  list,
  time as moment,
  named,
  nullable,
  object,
  optional,
  text,
  type Value,
  word,
} from '../../wire/schema.ts'
import { time } from '../../wire/value.ts'
import { route } from '../context.ts'

const KEY = {
  id: text('Its name: a part of the key that is not secret.'),
  subject: text('Recorded as actor and initiator of what is done with it.'),
  scopes: list(text()),
  roles: list(text()),
  tenant: nullable(text('Sees and changes only what belongs to this tenant.')),
  created_at: moment(),
  expires_at: nullable(moment()),
  revoked_at: nullable(moment()),
}
const Key = named('ApiKey', object(KEY))

const PRINTABLE = '^[^\\u0000-\\u001f\\u007f]+$'
const printable = {
  pattern: PRINTABLE,
  is: 'one line of text',
  hint: 'without control characters',
  fits: (value: string) => new RegExp(PRINTABLE).test(value),
}
const TENANT = '^[A-Za-z0-9][A-Za-z0-9._:-]*$'
const tenant = {
  pattern: TENANT,
  description: 'Default: the caller’s.',
  is: 'the name of a tenant',
  hint: 'letters, digits, and . _ : - after the first',
  fits: (value: string) => new RegExp(TENANT).test(value),
}

const KeyRequest = asked('a key', {
  subject: line(200, { ...printable, description: 'Who it stands for.' }),
  scopes: list(word(SCOPES), { minItems: 1, maxItems: SCOPES.length }),
  roles: optional(list(line(200, printable), { maxItems: 100, description: 'For votes on gates.' })),
  tenant: optional(line(128, tenant)),
  expires_in: optional(
    line(50, {
      description: 'How long it is valid: `90d`. Default: until it is revoked.',
      is: 'a duration longer than zero',
      hint: 'for example 12h or 90d',
      fits: (value: string) => (parseDuration(value) ?? 0) > 0,
    }),
  ),
})

export const KEY_ROUTES = [
  route(
    'GET /v1/keys',
    {
      tag: 'Administration',
      summary: 'List API keys, without their secrets',
      does: listKeys,
      description: 'Oldest first, also revoked ones. A caller of a tenant sees the keys of this tenant.',
      answers: { '200': { description: 'All keys.', schema: named('ApiKeyList', object({ keys: list(Key) })) } },
    },
    async ({ perform }) => ({ keys: (await perform(listKeys, null)).map(keyWire) }),
  ),

  route(
    'POST /v1/keys',
    {
      tag: 'Administration',
      summary: 'Make an API key',
      does: addKey,
      description:
        'The answer has the key, which is shown once and stored nowhere. A caller of a tenant makes keys of this tenant.',
      body: { schema: KeyRequest, example: { subject: 'ci', scopes: ['enqueue', 'read'], expires_in: '90d' } },
      answers: {
        '201': {
          description: 'Made.',
          schema: named('ApiKeyMade', object({ secret: text('The key, for the header Authorization.'), key: Key })),
        },
      },
    },
    async ({ body, caller, perform, reply }) => {
      const { subject, scopes, roles, tenant, expires_in: span } = body
      const { row, text } = await perform(addKey, {
        subject,
        scopes: [...new Set(scopes)],
        roles: roles ?? [],
        tenant: tenant ?? caller.tenant,
        validMs: span == null ? null : parseDuration(span),
      })
      reply.code(201)
      return { secret: text, key: keyWire(row) }
    },
  ),

  route(
    'DELETE /v1/keys/:id',
    {
      tag: 'Administration',
      summary: 'Revoke an API key',
      does: revokeKey,
      description: 'It is refused within two seconds, and the sign-ins made with it end. Its row stays in the list.',
      query: {},
      answers: { '200': { description: 'Revoked.', schema: named('ApiKeyReply', object({ key: Key })) } },
      errors: ['not_found', 'conflict'],
    },
    async ({ params: { id }, perform }) => ({ key: keyWire(await perform(revokeKey, { key: id })) }),
  ),
]

function keyWire({ id, subject, scopes, roles, tenant, createdAt, expiresAt, revokedAt }: KeyRow): Value<typeof Key> {
  return {
    id,
    subject,
    scopes,
    roles,
    tenant,
    created_at: time(createdAt),
    expires_at: time(expiresAt),
    revoked_at: time(revokedAt),
  }
}
