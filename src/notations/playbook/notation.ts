import type { Notation } from '../interface/notation.ts'

export const playbook: Notation = {
  name: 'playbook',
  mark: { field: 'kind', words: ['Playbook'] },
  detect: ({ kind, apiVersion }) =>
    kind === 'Playbook' || (kind === undefined && typeof apiVersion === 'string' && apiVersion.startsWith('noetl.io/')),
  read: async () => (await import('./read/parse.ts')).parsePlaybook,
}
