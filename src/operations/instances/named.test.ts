import { describe, expect, it } from 'vitest'
import type { EngineApi } from '../../engine/api.ts'
import { PetrelError } from '../../kernel/errors.ts'
import type { InstanceRow } from '../../model/rows.ts'
import type { StartParams } from '../../model/start.ts'
import { type Caller, operator } from '../caller.ts'
import { Operations } from '../operation.ts'
import { cancelNamedInstance, findNamedInstance, startNamedInstance } from './named.ts'

const ID = '019539a4-0000-7000-8000-000000000001'
const ROOT = '019539a4-0000-7000-8000-000000000002'

const ALL = operator(null)
const ACME: Caller = { ...ALL, tenant: 'acme', bound: true }

interface Stored {
  readonly rows?: readonly Partial<InstanceRow>[]
  /** Which root reserves a start key. */
  readonly names?: { readonly [startKey: string]: string }
  readonly start?: (start: StartParams) => { readonly id: string; readonly created: boolean }
}

function operationsOn({ rows = [], names = {}, start }: Stored): { perform: Operations; cancelled: string[] } {
  const all = rows.map((row) => ({ dialect: 'ojs', tenant: null, startKey: null, ...row }) as InstanceRow)
  const cancelled: string[] = []
  const engine = {
    queries: {
      instance: async (id: string) => all.find((row) => row.id === id) ?? null,
      trees: {
        instanceByKey: async (key: string) => all.find((row) => row.startKey === key) ?? null,
        nameHolders: async (keys: readonly string[]) =>
          new Map(keys.flatMap((key) => (names[key] === undefined ? [] : [[key, names[key]]]))),
      },
    },
    cancelInstance: async ({ id }: { id: string }) => {
      cancelled.push(id)
      return all.find((row) => row.id === id)
    },
    start: async ([one]: readonly StartParams[]) => [start?.(one as StartParams)],
  }
  return { perform: new Operations({ engine: engine as unknown as EngineApi, logger: null }), cancelled }
}

const name = (id: string, startKey = `ojs::${id}`) => ({ dialect: 'ojs', id, startKey })

describe('an instance that a client named', () => {
  it('is found by its id and by its name', async () => {
    const { perform } = operationsOn({ rows: [{ id: ID, startKey: 'ojs::order' }] })
    expect(await perform.perform(ALL, findNamedInstance, name(ID))).toMatchObject({ id: ID })
    expect(await perform.perform(ALL, findNamedInstance, name('order'))).toMatchObject({ id: ID })
  })

  it('of another notation or tenant does not exist', async () => {
    const { perform, cancelled } = operationsOn({
      rows: [
        { id: ID, tenant: 'other' },
        { id: ROOT, dialect: 'dag' },
      ],
    })
    expect(await perform.perform(ACME, findNamedInstance, name(ID))).toEqual({ within: null })
    expect(await perform.perform(ACME, cancelNamedInstance, name(ID))).toEqual({ within: null })
    expect(await perform.perform(ALL, findNamedInstance, name(ROOT))).toEqual({ within: null })
    expect(cancelled).toEqual([])
  })

  it('that does not exist yet is within the root that will create it', async () => {
    const { perform } = operationsOn({ rows: [{ id: ROOT }], names: { 'ojs::inner': ROOT } })
    expect(await perform.perform(ALL, findNamedInstance, name('inner'))).toMatchObject({ within: { id: ROOT } })
    expect(await perform.perform(ACME, findNamedInstance, name('inner'))).toEqual({ within: null })
  })
})

describe('the start of a named instance', () => {
  const START = { startKey: 'order', names: ['ojs::order'] } as unknown as StartParams

  it('is in the tenant and the name of the caller', async () => {
    const seen: StartParams[] = []
    const { perform } = operationsOn({
      rows: [{ id: ID }],
      start: (start) => {
        seen.push(start)
        return { id: ID, created: true }
      },
    })
    const caller = { ...ACME, subject: 'ann' }
    expect(await perform.perform(caller, startNamedInstance, START)).toMatchObject({ id: ID })
    expect(seen).toMatchObject([{ tenant: 'acme', initiator: 'ann' }])
  })

  it('is refused where one of its names is taken, before or meanwhile', async () => {
    const before = operationsOn({ names: { 'ojs::order': ROOT } })
    expect(await before.perform.perform(ALL, startNamedInstance, START)).toEqual({ taken: 'ojs::order' })
    const names: Record<string, string> = {}
    const meanwhile = operationsOn({
      names,
      start: () => {
        names['ojs::order'] = ROOT
        throw new PetrelError('duplicate', 'taken')
      },
    })
    expect(await meanwhile.perform.perform(ALL, startNamedInstance, START)).toEqual({ taken: 'ojs::order' })
  })
})
