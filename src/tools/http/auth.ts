/** Headers made from the `auth` of a task. */
import { type Credentials, credential } from '../credentials.ts'
import { misfit } from '../envelope.ts'
import { given, hasTemplate, isMap } from '../fields.ts'
import type { Fields, Problem, ToolCall } from '../tool.ts'

const HINT =
  'Write { type: bearer, token }, { type: basic, username, password } or { type: header, name, value }; the values from keychain.'

type Header = readonly [name: string, value: string]

/** `conceal` is called with the secret parts of a named credential. */
export async function authHeader(
  auth: Fields[string],
  { tenant, conceal }: Pick<ToolCall, 'tenant' | 'conceal'>,
  credentials: Credentials,
): Promise<Header> {
  if (typeof auth !== 'string') return headerOf(auth, () => {})
  return headerOf(await credential(auth, tenant, credentials), conceal)
}

function headerOf(auth: Fields[string], conceal: ToolCall['conceal']): Header {
  // A credential that is plain text is a token.
  if (typeof auth === 'string') return bearer(secretly(auth, conceal))
  if (!isMap(auth)) throw misfit(`http does not support this form of auth. ${HINT}`)
  const word = (...names: readonly string[]): string => {
    const found = given(auth, ...names)
    if (typeof found === 'string') return found
    if (typeof found === 'number') return String(found)
    throw misfit(`auth.${names[0]} must be text`)
  }
  switch (typeOf(auth)) {
    case 'bearer':
      return bearer(secretly(word('token', 'access_token'), conceal))
    case 'basic': {
      const pair = `${word('username', 'user')}:${secretly(word('password'), conceal)}`
      return ['authorization', `Basic ${Buffer.from(pair).toString('base64')}`]
    }
    case 'header':
      return [word('name', 'header').toLowerCase(), secretly(word('value', 'key'), conceal)]
    default:
      throw misfit(`http does not support this form of auth. ${HINT}`)
  }
}

function secretly(secret: string, conceal: ToolCall['conceal']): string {
  conceal(secret)
  return secret
}

export function checkAuth(auth: Fields[string] | undefined): Problem[] {
  if (auth === undefined || auth === null || !isMap(auth)) return []
  if (hasTemplate(auth['type']) || typeOf(auth) !== null) return []
  return [{ path: ['auth'], message: 'http does not support this form of auth', hint: HINT }]
}

function typeOf(auth: Fields): 'bearer' | 'basic' | 'header' | null {
  const type = given(auth, 'type')
  if (type === 'bearer' || type === 'basic' || type === 'header') return type
  if (type === 'api_key') return 'header'
  if (type !== undefined) return null
  if (given(auth, 'token', 'access_token') !== undefined) return 'bearer'
  if (given(auth, 'username', 'user') !== undefined) return 'basic'
  return given(auth, 'name', 'header') === undefined ? null : 'header'
}

function bearer(token: string): Header {
  return ['authorization', `Bearer ${token}`]
}
