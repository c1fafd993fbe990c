/** Where in the feed to continue: after an event id, a cursor of an earlier reply, or from the start. */

import { RequestError } from '../../../../http/request-error.ts'
import { type EventPlace, eventPlace } from '../../project/event-id.ts'
import { fromCursor, toCursor } from '../paging.ts'

/** Parts of one stored event are fewer. */
export const WHOLE = 4095

export const START: EventPlace = { feedId: 0, part: WHOLE }

export function placeCursor({ feedId, part }: EventPlace): string {
  return toCursor(`${feedId}.${part}`)
}

export function readPlace(text: string): EventPlace {
  const byId = eventPlace(text)
  if (byId !== null) return byId
  const found = text.startsWith('evt_') ? null : /^(\d{1,15})\.(\d{1,4})$/.exec(decoded(text))
  if (found !== null) return { feedId: Number(found[1]), part: Number(found[2]) }
  throw new RequestError(
    'invalid_request',
    `'${text.slice(0, 100)}' is neither an event id nor a cursor of this server`,
    {
      details: { parameter: 'after' },
      hint: 'Send the id of the last event you saw, or the cursor of the last reply, as it is.',
    },
  )
}

function decoded(text: string): string {
  try {
    return fromCursor(text)
  } catch {
    return ''
  }
}

/** Is an event behind the place? */
export function isAfter(place: EventPlace, event: EventPlace): boolean {
  return event.feedId > place.feedId || (event.feedId === place.feedId && event.part > place.part)
}
