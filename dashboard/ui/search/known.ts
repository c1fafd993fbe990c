/** Values that the server has, for the completion; read when a field is first completed. */
import { type Signal, signal } from '@preact/signals'
import { api } from '../../api/client.ts'
import type { KnownValues } from './completion.ts'

export const knownValues: Signal<KnownValues> = signal({})

const MOST = 200

const READERS: Readonly<Record<string, () => Promise<readonly string[]>>> = {
  name: async () => {
    const { definitions } = await api('GET /v1/definitions', { query: { limit: MOST } })
    return definitions.map(({ name }) => name)
  },
  error: async () => {
    const { groups } = await api('GET /v1/error-groups', { query: { limit: MOST } })
    return groups.map(({ code }) => code)
  },
  type: async () => {
    const { groups } = await api('GET /v1/error-groups', { query: { limit: MOST } })
    return groups.map(({ type }) => type)
  },
}

const asked = new Set<string>()

/** Once; without an answer the field has no suggestions. */
export function learn(field: string): void {
  const read = Object.hasOwn(READERS, field) ? READERS[field] : undefined
  if (read === undefined || asked.has(field)) return
  asked.add(field)
  read().then(
    (values) => {
      knownValues.value = { ...knownValues.value, [field]: [...new Set(values)].sort() }
    },
    () => asked.delete(field),
  )
}
