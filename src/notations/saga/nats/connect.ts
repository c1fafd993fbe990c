/** Opens a connection to an address, however long that takes. */
import { readFileSync } from 'node:fs'
import { connect, credsAuthenticator, type NatsConnection, type NodeConnectionOptions } from '@nats-io/transport-node'
import { PetrelError } from '../../../kernel/errors.ts'
import type { Logger } from '../../../kernel/logger.ts'
import { sleep } from '../../../kernel/sleep.ts'

export interface Address {
  /** nats://host:4222, tls://…; several separated by commas. The first may contain a user and password, or a token. */
  readonly url: string
  /** File with the credentials of a user (.creds). */
  readonly credentials?: string
}

/** Shown in the server's list of connections. */
const CLIENT_NAME = 'petrel'
const CONNECT_MS = 5_000
/** A broken connection is noticed after three of these; the relay waits no longer than its hold. */
const PING_MS = 10_000
const RECONNECT_MS = 250
const MOST_PAUSE_MS = 5_000

export function connectionOptions({ url, credentials }: Address): NodeConnectionOptions {
  const servers = url
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '')
  const parsed = servers.map((server) => parse(server))
  const [first] = parsed
  if (first === undefined)
    throw new PetrelError('invalid_request', 'an address of NATS is missing: nats://127.0.0.1:4222')
  return {
    // The client ignores a user in an address, and takes a password's digits for the port.
    servers: parsed.map(({ host }) => host),
    ...identity(first, credentials),
    ...(parsed.some(({ protocol }) => protocol === 'tls:') ? { tls: {} } : {}),
    name: CLIENT_NAME,
    timeout: CONNECT_MS,
    pingInterval: PING_MS,
    maxPingOut: 2,
    reconnectTimeWait: RECONNECT_MS,
    maxReconnectAttempts: -1,
    // Credentials may be replaced at run time, so refused ones are tried again.
    ignoreAuthErrorAbort: true,
  }
}

/** Tries until it succeeds. null: aborted. */
export async function connectPersistently(
  address: Address,
  { signal, logger }: { readonly signal: AbortSignal; readonly logger: Logger | null },
): Promise<NatsConnection | null> {
  const options = connectionOptions(address)
  for (let tries = 0; !signal.aborted; tries++) {
    try {
      const nc = await connect(options)
      if (!signal.aborted) return nc
      await nc.close()
    } catch (error) {
      // Logged at once, then less and less often.
      if ((tries & (tries - 1)) === 0) {
        logger?.warn({ err: error, servers: options.servers }, 'NATS does not answer; trying again')
      }
      await sleep(Math.min(RECONNECT_MS * 2 ** Math.min(tries, 10), MOST_PAUSE_MS), signal)
    }
  }
  return null
}

interface Server {
  readonly protocol: string
  readonly host: string
  readonly user: string
  readonly password: string
}

function parse(text: string): Server {
  const address = text.includes('://') ? text : `nats://${text}`
  try {
    const { protocol, host, username, password } = new URL(address)
    if (host === '' || (protocol !== 'nats:' && protocol !== 'tls:')) throw new TypeError('not of NATS')
    return { protocol, host, user: decodeURIComponent(username), password: decodeURIComponent(password) }
  } catch {
    const shown = text.replace(/\/\/[^@]*@/, '//***@')
    throw new PetrelError(
      'invalid_request',
      `'${shown}' is not an address of NATS: nats://host:4222 or tls://host:4222`,
    )
  }
}

function identity({ user, password }: Server, credentials: string | undefined): NodeConnectionOptions {
  // Read again at every connect.
  if (credentials !== undefined) return { authenticator: credsAuthenticator(() => readFileSync(credentials)) }
  if (password !== '') return { user, pass: password }
  return user === '' ? {} : { token: user }
}
