/** The type of what a route answers: `Answer<'GET /v1/instances'>['instances'][number]`. */
import type { api } from './client.ts'

export type Answer<W extends Parameters<typeof api>[0]> = Awaited<ReturnType<typeof api<W>>>
