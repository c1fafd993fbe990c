/** An instance named by a caller. Instances of other tenants do not exist for it. */
import { missing, PetrelError } from '../../kernel/errors.ts'
import { readId } from '../../kernel/ids.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { Net } from '../../net/net.ts'
import { type InstanceView, type ViewPage, viewPlaces } from '../../views/view.ts'
import { maySee } from '../caller.ts'
import type { Use } from '../operation.ts'

export async function findInstance({ engine, caller }: Use, given: string): Promise<InstanceRow> {
  const row = await engine.queries.instance(idOf(given))
  if (row === null || !maySee(caller, row)) throw missing('instance', given)
  return row
}

/** `page`: left out: the first one. */
export async function findView({ engine, caller }: Use, given: string, page?: ViewPage): Promise<InstanceView> {
  if (page?.after != null && viewPlaces(page.after) === null) {
    throw new PetrelError('invalid_request', 'after must be the next of a page', { parameter: 'after' })
  }
  const view = await engine.view(idOf(given), page)
  if (view === null || !maySee(caller, view.instance)) throw missing('instance', given)
  return view
}

export async function netOf({ engine }: Use, { netHash }: InstanceRow): Promise<Net> {
  const net = await engine.net(netHash)
  if (net === null) throw missing('net', netHash)
  return net
}

function idOf(given: string): string {
  const id = readId(given)
  if (id !== null) return id
  throw new PetrelError('not_found', `there is no instance ${given}`, {
    kind: 'instance',
    id: given,
    hint: 'The id of an instance is a UUID.',
  })
}
