/** Which addresses a webhook may be sent to: not those of this machine or of a private network, unless allowed. */
import { BlockList, isIP } from 'node:net'

/** Not routed on the internet, or not to one host (RFC 6890 and its registries). */
const CLOSED = new BlockList()
for (const [network, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  CLOSED.addSubnet(network, bits)
}
// Tunnels to IPv4 addresses, documentation, and protocol assignments inside the global range.
for (const [network, bits] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const) {
  CLOSED.addSubnet(network, bits, 'ipv6')
}
/** The part of IPv6 that is routed at all; mapped and translated IPv4 is outside it. */
const GLOBAL = new BlockList()
GLOBAL.addSubnet('2000::', 3, 'ipv6')

export function isPublic(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !CLOSED.check(address)
  return version === 6 && GLOBAL.check(address, 'ipv6') && !CLOSED.check(address, 'ipv6')
}

/** The host of a URL if it is an address and not a name: no lookup will check it later. */
export function literalAddress(url: URL): string | null {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return isIP(host) === 0 ? null : host
}
