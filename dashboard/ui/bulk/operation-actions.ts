/** Stops an operation that runs, or continues one that is stopped. */
import { api } from '../../api/client.ts'
import type { Action } from '../actions.tsx'
import type { Operation } from './progress-bar.tsx'

/** `refresh`: reads again what the page shows. */
export function stopOrResume({ id, state }: Operation, refresh: () => Promise<void>): Action {
  if (state === 'stopped') {
    return {
      id: 'resume',
      label: 'Resume',
      hint: 'Continue with the items that have no result',
      scope: 'admin',
      command: `petrel bulk resume ${id}`,
      request: { method: 'POST', path: `/v1/operations/${id}/resume` },
      run: async () => {
        await api('POST /v1/operations/:id/resume', { params: { id } })
        await refresh()
        return 'The operation continues.'
      },
    }
  }
  return {
    id: 'stop',
    label: 'Stop',
    hint: 'Actions that are being performed end; no further one begins',
    scope: 'admin',
    danger: true,
    unavailable: state === 'completed' ? 'it is completed' : null,
    command: `petrel bulk stop ${id}`,
    request: { method: 'POST', path: `/v1/operations/${id}/stop` },
    run: async () => {
      await api('POST /v1/operations/:id/stop', { params: { id } })
      await refresh()
      return 'The operation is stopped. What was changed stays changed.'
    },
  }
}
