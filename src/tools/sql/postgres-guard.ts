/**
 * Which databases a task may reach by an address of its own. Those of named credentials are the operator's and need no
 * permission; an address or URL in a playbook comes from data, and is checked like that of an http request.
 */
import { isIP, Socket } from 'node:net'
import { dirname } from 'node:path'
import { ToolFault } from '../envelope.ts'
import { Guard, type Resolve } from '../http/guard.ts'

const HOW_TO_ALLOW = '--postgres-allow, PETREL_POSTGRES_ALLOW or allowDatabases, or let the operator give a credential'

/** Parameters of a URL that do not name a file of the worker. */
const HARMLESS: ReadonlySet<string> = new Set([
  'application_name',
  'client_encoding',
  'connect_timeout',
  'host',
  'idle_in_transaction_session_timeout',
  'lock_timeout',
  'options',
  'password',
  'port',
  'ssl',
  'sslmode',
  'sslnegotiation',
  'statement_timeout',
  'user',
])

export interface DatabaseGuardOptions {
  /** Names, addresses and networks, and directories of Unix sockets (`/run/postgresql`); true, or `all` among them: any. */
  readonly allowDatabases: readonly string[] | true
  readonly resolve?: Resolve
}

export class DatabaseGuard {
  readonly #hosts: Guard
  /** Directories of sockets; true: any. */
  readonly #sockets: readonly string[] | true

  constructor({ allowDatabases, resolve }: DatabaseGuardOptions) {
    const all = allowDatabases === true || allowDatabases.includes('all')
    const entries = all ? [] : (allowDatabases as readonly string[])
    const allowPrivate = all || entries.filter((entry) => !entry.startsWith('/'))
    this.#hosts = new Guard({ allowPrivate, howToAllow: HOW_TO_ALLOW, ...(resolve === undefined ? {} : { resolve }) })
    this.#sockets = all || entries.filter((entry) => entry.startsWith('/')).map((entry) => entry.replace(/\/+$/, ''))
  }

  /** Refuses parameters that make the driver read the worker's files. */
  admitUrl(url: URL): void {
    if (this.#sockets === true) return
    for (const name of url.searchParams.keys()) {
      if (HARMLESS.has(name)) continue
      const message = `the URL of the database has the parameter ${name}, which a playbook may not set; let the operator give a credential`
      throw new ToolFault({ kind: 'client_error', code: 'PARAMETER_BLOCKED', message, details: { parameter: name } })
    }
  }

  /** The socket for `pg`. The connection uses exactly the address that was checked. */
  readonly stream = (): Socket => {
    const socket = new Socket()
    const connect = socket.connect.bind(socket)
    const guarded = (where: number | string, host?: string | null): Socket => {
      try {
        if (typeof where === 'string' && !/^\d+$/.test(where)) return connect(this.#admitSocket(where))
        const name = host ?? 'localhost'
        if (isIP(name) !== 0) this.#hosts.admitAddress(name)
        return connect({ port: Number(where), host: name, lookup: this.#hosts.lookup })
      } catch (error) {
        // After the driver has attached its listeners.
        process.nextTick(() => socket.destroy(error as Error))
        return socket
      }
    }
    socket.connect = guarded as Socket['connect']
    return socket
  }

  #admitSocket(path: string): string {
    if (this.#sockets === true || this.#sockets.includes(dirname(path))) return path
    const message = `${path} is a socket of the worker's machine; to allow it, name its directory in ${HOW_TO_ALLOW}`
    throw new ToolFault({ kind: 'client_error', code: 'SSRF_BLOCKED', message, details: { socket: path } })
  }
}
