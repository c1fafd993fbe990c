/**
 * Which addresses a request may reach. URLs in playbooks may come from any input, and workers run inside networks:
 * an address that is not public is refused unless the operator of the worker has allowed it.
 */
import { lookup as systemLookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { isPublic, literalAddress } from '../../kernel/addresses.ts'
import { PetrelError } from '../../kernel/errors.ts'
import { ToolFault } from '../envelope.ts'

export interface Address {
  readonly address: string
  readonly family: number
}

/** All addresses of a name. */
export type Resolve = (host: string) => Promise<readonly Address[]>

export interface GuardOptions {
  /** Names (`api.internal`, `*.internal`), addresses and networks (`10.0.0.0/8`); true, or `all` among them: everything. */
  readonly allowPrivate: readonly string[] | true
  /** The setting in which the operator can allow a refused address. */
  readonly howToAllow: string
  readonly resolve?: Resolve
}

export class Guard {
  readonly #all: boolean
  readonly #names: readonly string[]
  readonly #networks: BlockList
  readonly #resolve: Resolve
  readonly #howToAllow: string

  constructor({ allowPrivate, howToAllow, resolve = bySystem }: GuardOptions) {
    this.#all = allowPrivate === true || allowPrivate.includes('all')
    const { names, networks } = sorted(this.#all ? [] : (allowPrivate as readonly string[]))
    this.#names = names
    this.#networks = networks
    this.#resolve = resolve
    this.#howToAllow = howToAllow
  }

  /** A host that is an address is never looked up, so it is checked here. */
  admit(url: URL): void {
    const literal = literalAddress(url)
    if (literal !== null) this.admitAddress(literal)
  }

  admitAddress(address: string): void {
    if (!this.#allows(address)) throw this.#refused(address, address)
  }

  /**
   * Checked where the connection is made: it uses the addresses found here, even if the name resolves differently a
   * moment later.
   */
  readonly lookup: LookupFunction = (host, options, done) => {
    this.#addressesOf(host).then(
      (found) => {
        const [first] = found
        if (options.all === true) done(null, [...found])
        else done(null, first!.address, first!.family)
      },
      (error: Error) => done(error, '', 0),
    )
  }

  async #addressesOf(host: string): Promise<readonly Address[]> {
    const found = await this.#resolve(host)
    if (found.length === 0) throw Object.assign(new Error(`${host} has no address`), { code: 'ENOTFOUND' })
    if (this.#all || this.#names.some((name) => matches(name, host))) return found
    const closed = found.find(({ address }) => !this.#allows(address))
    if (closed !== undefined) throw this.#refused(host, closed.address)
    return found
  }

  #allows(address: string): boolean {
    if (this.#all || isPublic(address)) return true
    return this.#networks.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }

  #refused(host: string, address: string): ToolFault {
    const shown = host === address ? address : `${host} (${address})`
    const message = `${shown} is not a public address; to allow it, name it in ${this.#howToAllow}`
    return new ToolFault({ kind: 'client_error', code: 'SSRF_BLOCKED', message, details: { host, address } })
  }
}

function sorted(entries: readonly string[]): { readonly names: readonly string[]; readonly networks: BlockList } {
  const names: string[] = []
  const networks = new BlockList()
  for (const entry of entries) {
    const [address = '', bits, ...rest] = entry.split('/')
    const version = isIP(address)
    const type = version === 6 ? 'ipv6' : 'ipv4'
    const size = Number(bits)
    if (version !== 0 && bits === undefined) networks.addAddress(address, type)
    else if (
      version !== 0 &&
      rest.length === 0 &&
      bits !== '' &&
      Number.isInteger(size) &&
      size >= 0 &&
      size <= (version === 6 ? 128 : 32)
    ) {
      networks.addSubnet(address, size, type)
    } else if (/^(\*\.)?[a-z0-9_.-]+$/i.test(entry)) names.push(entry.toLowerCase())
    else throw new PetrelError('invalid_request', `"${entry}" is not a host name, address or network`)
  }
  return { names, networks }
}

function matches(name: string, host: string): boolean {
  const asked = host.toLowerCase().replace(/\.$/, '')
  return name.startsWith('*.') ? asked.endsWith(name.slice(1)) : asked === name
}

const bySystem: Resolve = (host) =>
  new Promise((resolve, reject) => {
    systemLookup(host, { all: true }, (error, found) => (error === null ? resolve(found) : reject(error)))
  })
