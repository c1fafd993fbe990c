/** Nets, which are named by their hash and never change. */
import { missing } from '../../kernel/errors.ts'
import type { Net } from '../../net/net.ts'
import { operation } from '../operation.ts'
import { findDefinition } from './definitions.ts'

export interface NamedNet {
  readonly hash: string
  readonly net: Net
}

/** Of all tenants: a net does not say whose it is. */
export const showNet = operation(
  { scope: 'read', shared: true },
  async ({ engine }, { hash }: { readonly hash: string }): Promise<NamedNet> => {
    // Of the store: this process may also know nets that were only checked.
    const row = /^[0-9a-f]{64}$/.test(hash) ? await engine.queries.net(hash) : null
    if (row === null) throw missing('net', hash.slice(0, 64))
    return { hash, net: JSON.parse(row.net) as Net }
  },
)

/** Of a version that the caller may see. */
export const definitionNet = operation(
  { scope: 'read' },
  async (use, named: { readonly name: string; readonly version: string }): Promise<NamedNet> => {
    const { netHash: hash } = await findDefinition(use, named)
    const net = await use.engine.net(hash)
    if (net === null) throw missing('net', hash)
    return { hash, net }
  },
)
