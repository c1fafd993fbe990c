/** What some notations provide is asked of an instance of another. */
import { RequestError } from '../../http/request-error.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { Projection } from '../../notations/interface/projection.ts'
import { NOTATIONS } from '../../notations/notations.ts'

export function unsupported(what: string, part: keyof Projection, { id, dialect }: InstanceRow): RequestError {
  const kinds = NOTATIONS.filter(({ project }) => project[part] !== undefined).map(({ project }) => project.terms.kind)
  return new RequestError(
    'unsupported',
    `${what}: a ${kinds.join(' or a ')} has them; this instance is of ${dialect}`,
    {
      hint: `GET /v1/instances/${id}/events has its history.`,
    },
  )
}
