/** The nodes of a net that are shown as steps. Light: every command loads it. */
import type { Net, Node } from '../../../net/net.ts'

/** The nodes of the steps. Joins that the compiler inserts between them do no work and have no name in the file. */
export function dagNodes(net: Net): readonly Node[] {
  return net.nodes.filter(({ work }) => work.kind !== 'pass')
}
