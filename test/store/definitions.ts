import { expect, it } from 'vitest'
import { type DefinitionRow, definitionKey } from '../../src/model/definitions.ts'
import type { Store } from '../../src/store/store.ts'
import { anInstance, newId, T0 } from './rows.ts'
import { ids, load, put } from './subject.ts'
import type { Current } from './suite.ts'

function aDefinition(given: Partial<DefinitionRow> = {}): DefinitionRow {
  return {
    id: newId(),
    tenant: null,
    name: 'order',
    version: '1',
    number: 1,
    dialect: 'dag',
    netHash: 'net-1',
    sourceHash: 'text-1',
    trigger: null,
    createdAt: T0,
    createdBy: null,
    usedAt: null,
    retiredAt: null,
    tags: null,
    latest: true,
    source: 'kind: Workflow',
    plan: '{"net":"net-1","nets":[]}',
    ...given,
  }
}

const onEvent = (event: string): string => JSON.stringify({ event, condition: null, schedule: null, timezone: 'UTC' })
const ORDER = { tenant: null, name: 'order' }

const putAll = (store: Store, ...rows: readonly DefinitionRow[]): Promise<void> =>
  put(store, { definitions: { put: rows } })

export function definitionTopic(current: Current): void {
  it('returns a definition as it was put, complete or without its text', async () => {
    const { definitions } = current().store
    const row = aDefinition({ trigger: onEvent('a'), createdBy: 'ada', source: '# ünï\n"quoted" \\ text' })
    await putAll(current().store, row)
    const { source: _, plan: __, ...head } = row
    expect(await definitions.byId(row.id)).toEqual(row)
    expect(await definitions.get({ ...ORDER, version: '1' })).toEqual(row)
    expect(await definitions.find({ ...ORDER, version: '1' })).toEqual(head)
    expect(await definitions.get({ ...ORDER, version: '2' })).toBeNull()
    expect(await definitions.byId(newId())).toBeNull()
    const changed = { ...row, source: 'other', sourceHash: 'text-2', plan: '{"net":"n","nets":["m"]}', trigger: null }
    await putAll(current().store, changed)
    expect(await definitions.byId(row.id)).toEqual(changed)
  })

  it('the latest is the highest number that is not retired; if all are, the newest is returned, as not latest', async () => {
    const { store } = current()
    const [one, two, three] = [1, 2, 3].map((number) => aDefinition({ number, version: `v${number}` })) as [
      DefinitionRow,
      DefinitionRow,
      DefinitionRow,
    ]
    await putAll(store, three, one, two)
    const latest = () => store.definitions.find({ ...ORDER, version: null })
    expect(await latest()).toMatchObject({ version: 'v3', latest: true })
    await put(store, { definitions: { retire: [three.id] } })
    expect(await latest()).toMatchObject({ version: 'v2', latest: true, retiredAt: null })
    expect(await store.definitions.find({ ...ORDER, version: 'v3' })).toMatchObject({ latest: false })
    await put(store, { definitions: { retire: [one.id, two.id] } })
    expect(await latest()).toMatchObject({ version: 'v3', latest: false })
    expect((await latest())?.retiredAt).not.toBeNull()
    await put(store, { definitions: { restore: [one.id] } })
    expect(await latest()).toMatchObject({ version: 'v1', latest: true })
  })

  it('a transaction loads all versions of a name, oldest first, and none for an unknown name', async () => {
    const { store } = current()
    const rows = [2, 1].map((number) => aDefinition({ number, version: String(number), usedAt: T0 }))
    const red = aDefinition({ tenant: 'red' })
    await putAll(store, ...rows, red)
    const names = [ORDER, { tenant: 'red', name: 'order' }, { tenant: null, name: 'none' }]
    const { definitions } = await load(store, { definitions: names })
    const found = names.map((name) => definitions.get(definitionKey(name)))
    expect(found.map((heads) => heads?.map((h) => [h.version, h.latest, h.usedAt]))).toEqual([
      [
        ['1', false, T0],
        ['2', true, T0],
      ],
      [['1', true, null]],
      [],
    ])
  })

  it('the name is locked, even if it does not exist: two that put a first version are serialised', async () => {
    const { store, second } = current()
    const other = await second()
    const putNext = (on: Store): Promise<number> =>
      on.transact({
        roots: [],
        wait: true,
        need: { definitions: [ORDER] },
        decide: ({ definitions }) => {
          const number = (definitions.get(definitionKey(ORDER))?.length ?? 0) + 1
          const row = aDefinition({ number, version: String(number) })
          return { delta: { definitions: { put: [row] } }, result: number }
        },
      })
    const numbers = await Promise.all(Array.from({ length: 20 }, (_, i) => putNext(i % 2 === 0 ? store : other)))
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
  })

  it('a version and a number are unique for a name and tenant', async () => {
    const { store } = current()
    await putAll(store, aDefinition())
    await expect(putAll(store, aDefinition({ number: 2 }))).rejects.toThrow()
    await expect(putAll(store, aDefinition({ version: '2' }))).rejects.toThrow()
    await putAll(store, aDefinition({ tenant: 'red' }), aDefinition({ name: 'other' }))
  })

  it('marks as used the version that still has this text and is in service, and keeps the first time', async () => {
    const { store } = current()
    const row = aDefinition()
    await putAll(store, row)
    const { definitions } = store
    expect(await definitions.use({ id: row.id, sourceHash: 'text-0' })).toBeNull()
    expect((await definitions.byId(row.id))?.usedAt).toBeNull()
    const usedAt = await definitions.use(row)
    expect(usedAt).not.toBeNull()
    expect(await definitions.use(row)).toBe(usedAt)
    expect((await definitions.byId(row.id))?.usedAt).toBe(usedAt)
    await put(store, { definitions: { retire: [row.id] } })
    expect(await definitions.use(row)).toBeNull()
  })

  it('lists the latest of each name or all versions of one, newest first, page by page', async () => {
    const { store } = current()
    const rows = ['a', 'b', 'c'].flatMap((name) =>
      [1, 2, 3].map((number) =>
        aDefinition({
          name,
          number,
          version: `${number}`,
          dialect: name === 'b' ? 'net' : 'dag',
          latest: number === 3,
        }),
      ),
    )
    await putAll(store, ...rows, aDefinition({ tenant: 'red', name: 'a' }))
    const query = { tenant: null, name: null, dialect: null, limit: 10, before: null }
    const named = async (q: Partial<typeof query> | { readonly name: string } | { readonly before: string | null }) =>
      (await store.definitions.list({ ...query, ...q })).map((row) => `${row.name}${row.version}`)
    expect(await named({})).toEqual(['c3', 'b3', 'a3'])
    expect(await named({ limit: 2 })).toEqual(['c3', 'b3'])
    expect(await named({ before: rows[5]?.id ?? '' })).toEqual(['a3'])
    // Lists leave the texts, which may be long, in the database.
    const { source: _, plan: __, ...head } = rows[5] as DefinitionRow
    expect(await store.definitions.list({ ...query, dialect: 'net' })).toEqual([head])
    expect(await named({ name: 'a' })).toEqual(['a3', 'a2', 'a1'])
    expect(await named({ name: 'a', before: rows[1]?.id ?? '' })).toEqual(['a1'])
    await put(store, {
      definitions: { retire: [rows[8]?.id ?? '', rows[2]?.id ?? '', rows[1]?.id ?? '', rows[0]?.id ?? ''] },
    })
    expect(await named({})).toEqual(['c2', 'b3'])
    expect(await store.definitions.names({ tenant: null })).toEqual(['b', 'c'])
    expect(await store.definitions.names({ tenant: 'red' })).toEqual(['a'])
    expect(await store.definitions.names({ tenant: 'blue' })).toEqual([])
  })

  it('finds the listeners of an event: only the latest version of a name, of this tenant', async () => {
    const { store } = current()
    const b2 = aDefinition({ name: 'b', number: 2, version: '2', trigger: onEvent('paid') })
    await putAll(
      store,
      aDefinition({ name: 'a', trigger: onEvent('paid') }),
      aDefinition({ name: 'a', number: 2, version: '2' }),
      aDefinition({ name: 'b', trigger: onEvent('made') }),
      b2,
      aDefinition({ name: 'c', trigger: onEvent('paid') }),
      aDefinition({ name: 'd', trigger: onEvent('paid'), tenant: 'red' }),
    )
    const heard = async (event: string, tenant: string | null = null) =>
      (await store.definitions.listening({ tenant, event })).map((head) => head.name)
    expect(await heard('paid')).toEqual(['b', 'c'])
    expect(await heard('made')).toEqual([])
    expect(await heard('paid', 'red')).toEqual(['d'])
    expect(await store.definitions.events({ tenant: null })).toEqual(['paid'])
    await put(store, { definitions: { retire: [b2.id] } })
    expect(await heard('paid')).toEqual(['c'])
    expect(await heard('made')).toEqual(['b'])
    expect(await store.definitions.events({ tenant: null })).toEqual(['made', 'paid'])
  })

  it('idle instances of a name, oldest first: roots of this tenant', async () => {
    const { store } = current()
    const idle = { state: 'idle' as const, name: 'order' }
    const [one, two, three] = [1, 2, 3].map(() => anInstance(idle)) as [never, never, never]
    const others = [
      anInstance({ ...idle, tenant: 'red' }),
      anInstance({ ...idle, name: 'bill' }),
      anInstance({ ...idle, state: 'running' }),
      anInstance({ ...idle, parentId: newId(), parentNode: 'a' }),
    ]
    await put(store, { instances: { insert: [three, ...others, one, two] } })
    expect(ids(await store.definitions.idle({ ...ORDER, limit: 10 }))).toEqual(ids([one, two, three]))
    expect(ids(await store.definitions.idle({ ...ORDER, limit: 2 }))).toEqual(ids([one, two]))
    expect(ids(await store.definitions.idle({ tenant: 'red', name: 'order', limit: 2 }))).toEqual([others[0]?.id])
  })

  it('retention keeps them and their nets; a reset does not', async () => {
    const { store } = current()
    const row = aDefinition({ usedAt: T0 - 9_000_000, createdAt: T0 - 9_000_000, retiredAt: T0 - 9_000_000 })
    await put(store, {
      definitions: { put: [row] },
      nets: [{ hash: 'net-1', name: 'order', dialect: 'dag', net: '{}' }],
    })
    await store.sweep.prune({ endedBefore: T0, eventsBefore: T0, limit: 100 })
    expect(await store.definitions.byId(row.id)).toEqual({ ...row, latest: false })
    expect(await store.read.net('net-1')).not.toBeNull()
    await store.reset()
    expect(await store.definitions.byId(row.id)).toBeNull()
  })

  it('doctor names a definition whose nets are not stored', async () => {
    const { store } = current()
    const lost = aDefinition({ plan: '{"net":"net-1","nets":["net-2"]}' })
    await put(store, {
      definitions: { put: [lost] },
      nets: [{ hash: 'net-1', name: 'order', dialect: 'dag', net: '{}' }],
    })
    expect(await store.read.doctor()).toEqual([
      {
        check: 'definition_net',
        subject: lost.id,
        finding: 'version 1 of order names net net-2, which is not stored: deploy it again',
      },
    ])
    await put(store, { nets: [{ hash: 'net-2', name: 'x', dialect: 'dag', net: '{}' }] })
    expect(await store.read.doctor()).toEqual([])
  })
}
