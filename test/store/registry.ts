import { expect, it } from 'vitest'
import type { RuntimeChange } from '../../src/model/registry.ts'
import type { Store } from '../../src/store/store.ts'
import { aRun, T0 } from './rows.ts'
import { load, put, setClock } from './subject.ts'
import type { Current } from './suite.ts'

const change = (workflowName: string, rest: Partial<RuntimeChange> = {}): RuntimeChange => ({
  workflowName,
  runtime: null,
  isEnabled: null,
  intentType: null,
  actor: null,
  ...rest,
})

/** As a transaction of the store reads it that decides on loaded rows. */
async function listed(store: Store, type: string): Promise<unknown> {
  return (await load(store, {})).listing(type)
}

export function registryTopic(current: Current): void {
  it('keeps one runtime per type, changes the given fields, and leaves the rest', async () => {
    const { store } = current()
    const { registry } = store
    expect(await registry.runtimes()).toEqual([])
    const made = await registry.putRuntime(change('b.v1', { runtime: 'go', description: 'pictures' }))
    expect(made).toMatchObject({ workflowName: 'b.v1', intentType: 'workflow', runtime: 'go', isEnabled: true })
    expect(Math.abs((made?.createdAt ?? 0) - T0)).toBeLessThan(60_000)
    await setClock(store, 1_000_000)
    const off = await registry.putRuntime(change('b.v1', { isEnabled: false }))
    expect(off).toMatchObject({ runtime: 'go', isEnabled: false, description: 'pictures', createdAt: made?.createdAt })
    expect((off?.updatedAt ?? 0) - (made?.updatedAt ?? 0)).toBeGreaterThan(900_000)
    expect(await registry.putRuntime(change('b.v1', { runtime: 'python', description: null }))).toMatchObject({
      runtime: 'python',
      isEnabled: false,
      description: null,
    })
    await registry.putRuntime(change('a.v1', { runtime: 'node', intentType: 'event', isEnabled: false }))
    expect(await registry.runtime('a.v1')).toMatchObject({ intentType: 'event', isEnabled: false, description: null })
    expect((await registry.runtimes()).map((row) => [row.workflowName, row.pending])).toEqual([
      ['a.v1', 0],
      ['b.v1', 0],
    ])
  })

  it('requires a runtime for an unknown type, and keeps only the row of a removed one', async () => {
    const { store, sql } = current()
    const { registry } = store
    expect(await registry.putRuntime(change('a.v1', { isEnabled: false }))).toBeNull()
    expect(await registry.runtime('a.v1')).toBeNull()
    await registry.putRuntime(change('a.v1', { runtime: 'go', isEnabled: false, description: 'old' }))
    expect(await registry.removeRuntime({ workflowName: 'a.v1', actor: null })).toBe(true)
    expect(await registry.removeRuntime({ workflowName: 'a.v1', actor: null })).toBe(false)
    expect(await registry.runtime('a.v1')).toBeNull()
    expect(await registry.runtimes()).toEqual([])
    expect(await registry.putRuntime(change('a.v1', { isEnabled: true }))).toBeNull()
    expect(await sql('SELECT workflow_name FROM workflow_registry WHERE deleted_at IS NOT NULL')).toHaveLength(1)
    expect(await registry.putRuntime(change('a.v1', { runtime: 'node' }))).toMatchObject({
      runtime: 'node',
      isEnabled: true,
      description: null,
    })
    expect(await sql('SELECT workflow_name FROM workflow_registry')).toHaveLength(1)
  })

  it('records the actor of a change', async () => {
    const { store } = current()
    await store.registry.putRuntime(change('a.v1', { runtime: 'go', isEnabled: false, actor: 'ann' }))
    await store.registry.removeRuntime({ workflowName: 'a.v1', actor: 'bob' })
    await store.registry.removeRuntime({ workflowName: 'a.v1', actor: 'eve' })
    const recorded = (await store.read.feed({ afterId: 0, limit: 100 })).map(({ type, actor, data }) => [
      type,
      actor,
      data,
    ])
    const data = { workflow_name: 'a.v1', runtime: 'go', is_enabled: false }
    expect(recorded.map(([type, actor, text]) => [type, actor, JSON.parse(String(text))])).toEqual([
      ['registry.changed', 'ann', data],
      ['registry.removed', 'bob', data],
    ])
  })

  it('counts pending runs of each type, in all queues and with any due time', async () => {
    const { store } = current()
    await store.registry.putRuntime(change('a.v1', { runtime: 'go', isEnabled: false }))
    await store.registry.putRuntime(change('b.v1', { runtime: 'go' }))
    await put(store, {
      runs: {
        insert: [
          aRun({ type: 'a.v1' }),
          aRun({ type: 'a.v1', queue: 'other', runAt: T0 + 9_000_000 }),
          aRun({ type: 'a.v1', status: 'leased', leasedBy: 'w' }),
          aRun({ type: 'a.v1', deletedAt: T0 }),
          aRun({ type: 'a.v12' }),
        ],
      },
    })
    const rows = await store.registry.runtimes()
    expect(rows.map((row) => [row.workflowName, row.pending])).toEqual([
      ['a.v1', 2],
      ['b.v1', 0],
    ])
  })

  it('every transaction sees the current entry of a type, whichever client wrote it and how', async () => {
    const { store, second, sql } = current()
    const other = await second()
    expect(await listed(store, 'a.v1')).toBeNull()
    await other.registry.putRuntime(change('a.v1', { runtime: 'go' }))
    expect(await listed(store, 'a.v1')).toEqual({ runtime: 'go', enabled: true })
    await sql(`UPDATE workflow_registry SET is_enabled = FALSE WHERE workflow_name = 'a.v1'`)
    expect(await listed(store, 'a.v1')).toEqual({ runtime: 'go', enabled: false })
    expect(await listed(other, 'a.v1')).toEqual({ runtime: 'go', enabled: false })
    await sql(`INSERT INTO workflow_registry (workflow_name, runtime) VALUES ('b.v1', 'python')`)
    expect(await listed(store, 'b.v1')).toEqual({ runtime: 'python', enabled: true })
    await sql(`DELETE FROM workflow_registry WHERE workflow_name = 'b.v1'`)
    expect(await listed(store, 'b.v1')).toBeNull()
    await store.registry.removeRuntime({ workflowName: 'a.v1', actor: null })
    expect(await listed(store, 'a.v1')).toBeNull()
    expect(await listed(other, 'a.v1')).toBeNull()
  })

  it('plain SQL gets the defaults, and the time of the last change is set', async () => {
    const { store, sql } = current()
    const refused = async (text: string, message: string) => {
      await expect(sql(text)).rejects.toThrow(message)
    }
    await refused(
      `INSERT INTO workflow_registry (workflow_name, runtime) VALUES ('a.v1', '')`,
      'workflow_registry.runtime: must be a word that workers state',
    )
    await refused(
      `INSERT INTO workflow_registry (workflow_name, runtime) VALUES ('', 'go')`,
      'workflow_registry.workflow_name: must name a type',
    )
    await sql(`INSERT INTO workflow_registry (workflow_name, runtime) VALUES ('a.v1', 'go')`)
    await refused(`UPDATE workflow_registry SET runtime = ''`, 'workflow_registry.runtime: must be')
    await setClock(store, 5_000_000)
    await sql(`UPDATE workflow_registry SET is_enabled = FALSE`)
    const row = await store.registry.runtime('a.v1')
    expect(row).toMatchObject({ runtime: 'go', isEnabled: false })
    expect((row?.updatedAt ?? 0) - T0).toBeGreaterThan(4_900_000)
  })

  it('wakes other processes with an empty wake', async () => {
    const { store, second, sql } = current()
    const other = await second()
    let woken = 0
    const stop = other.onWake((wake) => {
      if (Object.keys(wake).length === 0) woken++
    })
    const within = async (least: number) => {
      const giveUpAt = Date.now() + 5_000
      while (woken < least && Date.now() < giveUpAt) await new Promise((resolve) => setTimeout(resolve, 5))
      expect(woken).toBeGreaterThanOrEqual(least)
    }
    await store.registry.putRuntime(change('a.v1', { runtime: 'go' }))
    await within(1)
    const before = woken
    await sql(`UPDATE workflow_registry SET is_enabled = FALSE`)
    await within(before + 1)
    stop()
  })
}
