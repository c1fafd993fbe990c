import { expect, it } from 'vitest'
import type { NewCommand } from '../../src/model/commands.ts'
import type { InstanceRow, RunRow } from '../../src/model/rows.ts'
import type { Store } from '../../src/store/store.ts'
import { anEndedInstance, anInstance, aStep, newId, T0 } from './rows.ts'
import { put, setClock } from './subject.ts'
import type { Current } from './suite.ts'

const HOLD = 5_000
const RESEND = 30_000

/** A run that waits for a reply. */
export function aDeferred(instance: InstanceRow, node: string, given: Partial<RunRow> = {}): RunRow {
  const held = { status: 'leased', leasedBy: 'w', leasedAt: T0, startedAt: T0, deferred: true, epoch: 1 } as const
  return aStep(instance, node, { ...held, ...given })
}

export function aCommand(run: RunRow, given: Partial<NewCommand> = {}): NewCommand {
  return {
    runId: run.id,
    instanceId: run.instanceId as string,
    epoch: run.epoch,
    subject: `shop.v1.${run.node}.do`,
    body: `{"step": "${run.node}"}`,
    resendMs: RESEND,
    createdAt: T0,
    ...given,
  }
}

const nodes = (rows: readonly { readonly node: string }[]): string[] => rows.map((row) => row.node)

export function commandTopic(current: Current): void {
  /** A saga with many waiting steps, each with its command. */
  async function waiting(store: Store, ...names: string[]): Promise<{ instance: InstanceRow; runs: RunRow[] }> {
    const instance = anInstance({ dialect: 'saga', open: names.length, tenant: 'acme' })
    const runs = names.map((name) => aDeferred(instance, name, { tenant: 'acme' }))
    await put(store, {
      instances: { insert: [instance] },
      runs: { insert: runs },
      commands: { put: runs.map((run, i) => aCommand(run, { createdAt: T0 - 1_000 + i })) },
    })
    return { instance, runs }
  }
  const take = (store: Store, limit = 100) => store.commands.take({ limit, holdMs: HOLD })

  it('are due at once, in order of their due time, and held by the process that takes them', async () => {
    const { store } = current()
    const { instance, runs } = await waiting(store, 'a', 'b', 'c')
    expect(await store.commands.nextDueAt()).toBe(T0 - 1_000)
    const first = await take(store, 2)
    expect(nodes(first)).toEqual(['a', 'b'])
    expect(first[0]).toEqual({
      ...aCommand(runs[0] as RunRow, { createdAt: T0 - 1_000 }),
      instanceId: instance.id,
      tenant: 'acme',
      node: 'a',
      role: 'work',
      publishedAt: null,
      publishes: 0,
      dueAt: expect.any(Number),
    })
    expect(nodes(await take(store))).toEqual(['c'])
    expect(await take(store)).toEqual([])
    await setClock(store, HOLD + 1_000)
    expect(nodes(await take(store))).toEqual(['a', 'b', 'c'])
  })

  it('rest for their resend interval once they are confirmed, and are due again under the same id', async () => {
    const { store } = current()
    const { runs } = await waiting(store, 'a', 'b')
    const ids = runs.map((run) => run.id)
    await take(store)
    await store.commands.confirm({ runIds: [ids[0] as string, newId()] })
    const [a, b] = await store.commands.of({ runIds: ids })
    expect([a?.publishes, b?.publishes, b?.publishedAt]).toEqual([1, 0, null])
    expect(Math.abs((a?.publishedAt ?? 0) - T0)).toBeLessThan(5_000)
    expect((a?.dueAt ?? 0) - (a?.publishedAt ?? 0)).toBe(RESEND)
    await setClock(store, HOLD + 5_000)
    expect(nodes(await take(store))).toEqual(['b'])
    await setClock(store, RESEND + 10_000)
    const again = await take(store)
    expect(nodes(again).sort()).toEqual(['a', 'b'])
    expect(again.find((row) => row.node === 'a')).toMatchObject({ runId: ids[0], publishes: 1 })
    await store.commands.confirm({ runIds: [] })
  })

  it('are silenced when their run has ended, has been handed out again or is gone, and hide no later ones', async () => {
    const { store } = current()
    const { runs } = await waiting(store, 'a', 'b', 'c', 'd')
    const [a, b, c, d] = runs as [RunRow, RunRow, RunRow, RunRow]
    const over = { deferred: false, epoch: 2, settledAt: T0, finishedAt: T0 }
    await put(store, {
      runs: {
        update: [
          { ...a, ...over, status: 'succeeded' },
          { ...b, ...over, status: 'leased', settledAt: null, finishedAt: null },
        ],
        remove: [c.id],
      },
    })
    // One at a time: the silenced ones before it must not be taken for the end.
    expect(nodes(await take(store, 1))).toEqual(['d'])
    const left = await store.commands.of({ runIds: [a.id, b.id, c.id] })
    expect(left.map((row) => row.dueAt)).toEqual([null, null])
    await store.commands.confirm({ runIds: [a.id] })
    expect(await store.commands.of({ runIds: [a.id] })).toMatchObject([{ publishes: 1, dueAt: null }])
    await setClock(store, 3_600_000)
    expect(nodes(await take(store))).toEqual(['d'])
    await put(store, { runs: { update: [{ ...d, ...over, status: 'failed' }] } })
    await setClock(store, 7_200_000)
    expect(await take(store)).toEqual([])
    expect(await store.commands.nextDueAt()).toBeNull()
  })

  it('that were answered but never confirmed count as published', async () => {
    const { store } = current()
    const names = ['done', 'refused', 'too-large', 'silent', 'confirmed', 'by-hand']
    const { runs } = await waiting(store, ...names)
    await take(store, 5)
    await store.commands.confirm({ runIds: [runs[4]?.id as string] })
    const over = { deferred: false, epoch: 2, settledAt: T0, finishedAt: T0 + 70 }
    const failed = (code: string, unknown = false) =>
      ({ ...over, status: 'failed', unknown, error: JSON.stringify({ code, message: 'no' }) }) as const
    const [done, refused, tooLarge, silent, confirmed, byHand] = runs as [
      RunRow,
      RunRow,
      RunRow,
      RunRow,
      RunRow,
      RunRow,
    ]
    await put(store, {
      runs: {
        update: [
          { ...done, ...over, status: 'succeeded' },
          { ...refused, ...failed('step_failed') },
          { ...tooLarge, ...failed('command_too_large') },
          { ...silent, ...failed('timeout', true) },
          { ...confirmed, ...over, status: 'succeeded' },
          { ...byHand, ...over, status: 'succeeded' },
        ],
      },
    })
    await setClock(store, RESEND + 60_000)
    expect(await take(store)).toEqual([])
    const rows = await store.commands.ofInstance({ instanceId: done.instanceId as string })
    const published = Object.fromEntries(rows.map((row) => [row.node, row.publishedAt]))
    expect(rows.map((row) => row.dueAt)).toEqual(names.map(() => null))
    expect(published).toEqual({
      done: T0 + 70,
      refused: T0 + 70,
      'too-large': null,
      silent: null,
      confirmed: expect.any(Number),
      'by-hand': null,
    })
    expect(published['confirmed']).not.toBe(T0 + 70)
  })

  it('stored again, for a redriven run, are like new', async () => {
    const { store } = current()
    const { runs } = await waiting(store, 'a')
    const [a] = runs as [RunRow]
    await take(store)
    await store.commands.confirm({ runIds: [a.id] })
    const again = { ...a, epoch: 4 }
    await put(store, {
      runs: { update: [again] },
      commands: { put: [aCommand(a), aCommand(again, { body: '[2]', resendMs: 1_000, createdAt: T0 + 1 })] },
    })
    expect(await store.commands.ofInstance({ instanceId: a.instanceId as string })).toMatchObject([
      { runId: a.id, epoch: 4, body: '[2]', resendMs: 1_000, publishedAt: null, publishes: 0, dueAt: T0 + 1 },
    ])
    await setClock(store, 1_000)
    expect(await take(store)).toMatchObject([{ runId: a.id, body: '[2]' }])
  })

  it('keep their body byte for byte, and invalid JSON is refused', async () => {
    const { store } = current()
    const { instance, runs } = await waiting(store, 'a')
    const [a] = runs as [RunRow]
    const body = '{ "b":1,"a" : [1.0,1e3, 12345678901234567890],"b":2 ,"ü":"\\u00fc"}'
    await put(store, { commands: { put: [aCommand(a, { body })] } })
    expect((await store.commands.ofInstance({ instanceId: instance.id }))[0]?.body).toBe(body)
    await expect(put(store, { commands: { put: [aCommand(a, { body: '{' })] } })).rejects.toThrow()
  })

  it('are listed in the order of their runs, work and undo', async () => {
    const { store } = current()
    const { instance, runs } = await waiting(store, 'b', 'a')
    const undo = aDeferred(instance, 'a', { role: 'undo', createdAt: T0 + 1 })
    await put(store, { runs: { insert: [undo] }, commands: { put: [aCommand(undo)] } })
    const listed = await store.commands.ofInstance({ instanceId: instance.id })
    expect(listed.map((row) => `${row.role} ${row.node}`)).toEqual(['work b', 'work a', 'undo a'])
    expect(await store.commands.of({ runIds: [runs[1]?.id as string, newId(), 'no id'] })).toHaveLength(1)
    expect(await store.commands.ofInstance({ instanceId: 'no id' })).toEqual([])
    expect(await store.commands.of({ runIds: [] })).toEqual([])
  })

  it('are taken once by two processes that take at the same time', async () => {
    const { store, second } = current()
    const names = Array.from({ length: 60 }, (_, i) => `n${String(i).padStart(2, '0')}`)
    await waiting(store, ...names)
    const stores = [store, await second()]
    const taken = await Promise.all(
      [0, 1, 0, 1, 0, 1, 0, 1].map((which) => take(stores[which] as Store, 10).then(nodes)),
    )
    const all = taken.flat()
    expect(new Set(all).size).toBe(all.length)
    // SKIP LOCKED may have skipped some, which are still due.
    const rest = nodes(await take(store))
    expect([...all, ...rest].sort()).toEqual(names)
  })

  it('are deleted with their runs, by retention and by a reset', async () => {
    const { store, sql } = current()
    const old = T0 - 3_600_000
    const ended = anEndedInstance({ dialect: 'saga', createdAt: old, endedAt: old })
    const done = aStep(ended, 'a', { status: 'succeeded', settledAt: old, finishedAt: old })
    await put(store, {
      instances: { insert: [ended] },
      runs: { insert: [done] },
      commands: { put: [aCommand(done)] },
    })
    const { instance } = await waiting(store, 'b')
    const cut = { endedBefore: T0 - 1_000, eventsBefore: 0, limit: 100 }
    while ((await store.sweep.prune(cut)) > 0);
    expect(await sql('SELECT instance_id FROM workflow_command')).toEqual([{ instance_id: instance.id }])
    await store.commands.refused.note(REFUSED)
    await store.reset()
    expect(await sql('SELECT run_id FROM workflow_command')).toEqual([])
    expect(await store.commands.refused.list({ limit: 10, before: null })).toEqual([])
  })

  it('let the doctor find runs whose command will never be sent', async () => {
    const { store, sql } = current()
    const { runs } = await waiting(store, 'a', 'b', 'c', 'd')
    const [a, b, c, d] = runs as [RunRow, RunRow, RunRow, RunRow]
    expect(await store.read.doctor()).toEqual([])
    await sql(`DELETE FROM workflow_command WHERE run_id = '${a.id}'`)
    await sql(`UPDATE workflow_command SET due_at = NULL WHERE run_id = '${b.id}'`)
    await sql(`UPDATE workflow_command SET epoch = 0 WHERE run_id = '${c.id}'`)
    const finding = 'waits for an answer, but no command of it will be published: complete it by its id, or cancel it'
    const found = (await store.read.doctor()).map(({ check, subject, finding }) => ({ check, subject, finding }))
    expect(found.sort((x, y) => (x.subject < y.subject ? -1 : 1))).toEqual(
      [a, b, c].map(({ id }) => ({ check: 'command_missing', subject: id, finding })).sort(bySubject),
    )
    await put(store, { runs: { update: [a, b, c].map((run) => ({ ...run, deferred: false })) } })
    const lost = newId()
    await sql(`UPDATE workflow_command SET run_id = '${lost}' WHERE run_id = '${d.id}'`)
    await put(store, { runs: { update: [{ ...d, deferred: false }] } })
    expect(await store.read.doctor()).toMatchObject([{ check: 'command_without_run', subject: lost }])
  })

  it('rejected messages are stored: the newest first, truncated, with any content', async () => {
    const { store, sql } = current()
    const { refused } = store.commands
    await refused.note(REFUSED)
    await refused.note({ ...REFUSED, code: 'not_found', instanceId: 'i', stepId: 's', body: `${'ü'.repeat(4_000)}` })
    await refused.note({ ...REFUSED, body: 'nul \0, half \ud800', subject: 'x\0' })
    const [odd, long, first] = await refused.list({ limit: 10, before: null })
    expect(first).toMatchObject({ ...REFUSED, instanceId: null, stepId: null })
    expect(Math.abs((first?.at ?? 0) - T0)).toBeLessThan(5_000)
    expect(long).toMatchObject({ code: 'not_found', instanceId: 'i', stepId: 's', body: 'ü'.repeat(2_048) })
    expect(odd).toMatchObject({ body: 'nul \ufffd, half \ufffd', subject: 'x\ufffd' })
    expect(await refused.list({ limit: 1, before: long?.id ?? 0 })).toEqual([first])
    // The last ten thousand are kept.
    const id = (first?.id ?? 0) + 10_000
    const given = `${id - 1}, at, subject, code, message, body FROM workflow_refused LIMIT 1`
    const system = store.kind === 'postgres' ? 'OVERRIDING SYSTEM VALUE' : ''
    await sql(`INSERT INTO workflow_refused (id, at, subject, code, message, body) ${system} SELECT ${given}`)
    if (store.kind === 'postgres') {
      await sql(`SELECT setval(pg_get_serial_sequence('workflow.workflow_refused', 'id'), ${id - 1})`)
    }
    await refused.note(REFUSED)
    expect((await refused.list({ limit: 10, before: null })).map((row) => row.id)).toEqual([
      id,
      id - 1,
      odd?.id,
      long?.id,
    ])
  })
}

const REFUSED = {
  subject: 'workflow.v1.events.step-completed',
  code: 'invalid_json',
  message: 'the body is not JSON',
  instanceId: null,
  stepId: null,
  body: '{"',
} as const

function bySubject(a: { readonly subject: string }, b: { readonly subject: string }): number {
  return a.subject < b.subject ? -1 : 1
}
