/** Puts a run into the inbox. */
import { api } from '../../api/client.ts'
import { setQuery } from '../../browser/router.ts'
import { ActionDialog, quoted } from '../../ui/actions.tsx'
import { readForm, SchemaForm, useSchemaForm } from '../../ui/form/schema-form.tsx'

const FORM = {
  type: 'object',
  required: ['type'],
  properties: {
    type: { type: 'string', title: 'Type', description: 'dotted, and ends in a version: billing.invoice.v1' },
    payload: { title: 'Payload', description: 'any JSON value; empty: {}' },
    idempotency_key: {
      type: 'string',
      title: 'Idempotency key',
      description: 'a second submit under it answers with the first run',
    },
    queue: { type: 'string', title: 'Queue', description: 'default: default' },
    priority: { type: 'integer', title: 'Priority', description: 'smaller is earlier; default: 100' },
    run_at: { type: 'string', format: 'date-time', title: 'Not before' },
    max_attempts: { type: 'integer', title: 'Executions at most', minimum: 1, description: 'default: 3' },
  },
}

interface Asked {
  readonly type: string
  readonly payload?: unknown
  readonly idempotency_key?: string
  readonly queue?: string
  readonly priority?: number
  readonly run_at?: string
  readonly max_attempts?: number
}

export function SubmitDialog({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }) {
  const form = useSchemaForm(FORM)
  const submit = async (): Promise<string> => {
    const { payload = {}, ...rest } = readForm(form) as Asked
    const reply = await api('POST /v1/runs', { body: { ...rest, payload } })
    onDone()
    if ('debounced' in reply) return 'The run is stored when no other has followed.'
    const { created, id } = reply
    if (created) return 'The run is stored.'
    setQuery({ run: id })
    return 'The key was used before: this is its run.'
  }
  const typed = form.draft.value.get('/type')
  const type = typeof typed === 'string' && typed !== '' ? typed : 'TYPE'
  return (
    <ActionDialog
      title="Submit a run"
      verb="Submit"
      command={`petrel submit ${quoted(type)} @payload.json`}
      request={{ method: 'POST', path: '/v1/runs', body: { type, payload: {} } }}
      onClose={onClose}
      onConfirm={submit}
    >
      <SchemaForm model={form} label="The run" />
    </ActionDialog>
  )
}
