import { expect, it } from 'vitest'
import {
  dag,
  deploy,
  instances,
  metaOf,
  onBothStores,
  type Process,
  recorded,
  refusal,
  type Stage,
  start,
} from './stage.ts'

const HOURLY = "{ schedule: '0 * * * *' }"
const HOUR = 3_600_000

/** A process whose clock is half an hour before a full hour, and moves on request. */
async function opened(stage: Stage): Promise<Process & { pass(ms: number): Promise<void> }> {
  const process = await stage.open()
  const now = Date.now()
  let offset = Math.ceil(now / HOUR) * HOUR - HOUR / 2 - now
  await process.store.moveClock(offset)
  return {
    ...process,
    async pass(ms) {
      offset += ms
      await process.store.moveClock(offset)
      await process.engine.sweep()
    },
  }
}

async function end({ engine }: Process, name: string, store: Process['store']): Promise<void> {
  for (const { id, endedAt } of await instances({ store }, name)) {
    if (endedAt === null) await engine.cancelInstance({ id, actor: null })
  }
}

onBothStores('a schedule as trigger', (stage) => {
  it('starts the latest version of the definition', async () => {
    const process = await opened(stage)
    await deploy(process, dag({ name: 'report', version: '1', trigger: HOURLY }))
    await process.pass(HOUR)
    const [first] = await instances(process, 'report')
    expect(await metaOf(process, first?.id ?? '')).toMatchObject({
      definition: { name: 'report', version: '1' },
      trigger: { kind: 'schedule', schedule: 'workflow:report' },
    })
    await end(process, 'report', process.store)
    await deploy(process, dag({ name: 'report', version: '2', trigger: HOURLY, steps: 'a b' }))
    await process.pass(HOUR)
    const all = await instances(process, 'report')
    expect(all).toHaveLength(2)
    expect((await metaOf(process, all[0]?.id ?? ''))['definition']).toMatchObject({ version: '2' })
    expect(await process.store.read.schedule('workflow:report')).toMatchObject({ enabled: true, fireCount: 2 })
  })

  it('several times missed while no process ran count as one start', async () => {
    const process = await opened(stage)
    await deploy(process, dag({ name: 'report', trigger: HOURLY }))
    await process.pass(5 * HOUR)
    expect(await instances(process, 'report')).toHaveLength(1)
    await process.pass(0)
    expect(await instances(process, 'report')).toHaveLength(1)
  })

  it('is skipped while the previous instance is running', async () => {
    const process = await opened(stage)
    await deploy(process, dag({ name: 'report', trigger: HOURLY }))
    await process.pass(HOUR)
    await process.pass(HOUR)
    expect(await instances(process, 'report')).toHaveLength(1)
    expect(await recorded(process, 'cron.skipped')).toHaveLength(1)
  })

  it('stops when the definition is retired, and resumes when it is restored', async () => {
    const process = await opened(stage)
    await deploy(process, dag({ name: 'report', version: '1', trigger: HOURLY }))
    await process.catalog.retire({ tenant: null, name: 'report', version: null, actor: null })
    expect(await process.store.read.schedule('workflow:report')).toMatchObject({ enabled: false, nextAt: null })
    await process.pass(3 * HOUR)
    expect(await instances(process, 'report')).toEqual([])
    expect((await deploy(process, dag({ name: 'report', version: '1', trigger: HOURLY }))).what).toBe('restored')
    await process.pass(HOUR)
    expect(await instances(process, 'report')).toHaveLength(1)
  })

  it('stops when a new version drops it, and changes when one changes it', async () => {
    const process = await opened(stage)
    await deploy(process, dag({ name: 'report', version: '1', trigger: HOURLY }))
    const half = "{ schedule: '45 * * * *', timezone: Europe/Berlin }"
    await deploy(process, dag({ name: 'report', version: '2', trigger: half }))
    expect(await process.store.read.schedule('workflow:report')).toMatchObject({
      expression: '45 * * * *',
      timezone: 'Europe/Berlin',
      enabled: true,
    })
    await deploy(process, dag({ name: 'report', version: '3' }))
    expect((await process.store.read.schedule('workflow:report'))?.enabled).toBe(false)
    await process.catalog.retire({ tenant: null, name: 'report', version: '3', actor: null })
    expect(await process.store.read.schedule('workflow:report')).toMatchObject({
      expression: '45 * * * *',
      enabled: true,
    })
    await process.pass(2 * HOUR)
    expect(await instances(process, 'report')).toHaveLength(1)
  })

  it('that an operator paused stays paused across deploys; a deploy does not postpone a due one', async () => {
    const process = await opened(stage)
    await deploy(process, dag({ name: 'report', version: '1', trigger: HOURLY }))
    const due = (await process.store.read.schedule('workflow:report'))?.nextAt
    await deploy(process, dag({ name: 'report', version: '2', trigger: HOURLY, steps: 'b' }))
    expect((await process.store.read.schedule('workflow:report'))?.nextAt).toBe(due)
    await process.engine.setSchedule({ name: 'workflow:report', enabled: false })
    await deploy(process, dag({ name: 'report', version: '3', trigger: "{ schedule: '5 * * * *' }" }))
    expect(await process.store.read.schedule('workflow:report')).toMatchObject({
      expression: '5 * * * *',
      enabled: false,
      nextAt: null,
    })
  })

  it('starts idle instances, or else a new one; a firing that was interrupted starts nothing twice', async () => {
    const process = await opened(stage)
    await deploy(process, dag({ name: 'report', trigger: HOURLY }))
    const idle = await start(process, 'report', { start: false })
    const before = await process.store.read.schedule('workflow:report')
    await process.pass(HOUR)
    expect((await process.store.read.instance(idle.id))?.state).toBe('running')
    await process.engine.cancelInstance({ id: idle.id, actor: null })
    // The state after a process died between the start and the update of the schedule.
    const due = before?.nextAt ?? 0
    const then = stage.kind === 'sqlite' ? String(due) : `to_timestamp(${due} / 1000.0)`
    await stage.sql(`UPDATE workflow_cron SET next_at = ${then}, last_id = NULL WHERE name = 'workflow:report'`)
    await process.pass(0)
    expect(await instances(process, 'report')).toHaveLength(1)
    expect(await process.store.read.schedule('workflow:report')).toMatchObject({ lastId: idle.id, fireCount: 2 })
    await process.pass(HOUR)
    expect(await instances(process, 'report')).toHaveLength(2)
  })

  it('fires once, however many processes check it', async () => {
    const process = await opened(stage)
    const others = await Promise.all([stage.open(), stage.open()])
    await deploy(process, dag({ name: 'report', trigger: HOURLY }))
    await Promise.all([process.pass(HOUR), ...others.map(({ engine }) => engine.sweep())])
    await Promise.all([process, ...others].map(({ engine }) => engine.sweep()))
    expect(await instances(process, 'report')).toHaveLength(1)
  })

  it('of a definition that cannot be started is skipped, and the others fire', async () => {
    const deployer = await opened(stage)
    await deploy(deployer, dag({ name: 'a-lost', trigger: HOURLY }))
    await deploy(deployer, dag({ name: 'b-fine', trigger: HOURLY, steps: 'b' }))
    await stage.sql("DELETE FROM workflow_net WHERE name = 'a-lost'")
    // The process that deployed it still has its net in memory.
    const process = await opened(stage)
    await process.pass(HOUR)
    expect(await instances(process, 'b-fine')).toHaveLength(1)
    const [skipped] = await recorded(process, 'cron.skipped')
    expect(JSON.parse(skipped?.data ?? '')).toMatchObject({ schedule: 'workflow:a-lost', reason: 'refused' })
  })

  it('its name is reserved for the definition: no other schedule can use it', async () => {
    const process = await opened(stage)
    const schedule = { name: 'workflow:report', expression: '* * * * *', run: { type: 'a', payload: {} } }
    expect((await refusal(process.engine.putSchedule(schedule))).code).toBe('invalid_request')
  })

  it('each tenant has its own', async () => {
    const process = await opened(stage)
    await deploy(process, dag({ name: 'report', trigger: HOURLY }), { tenant: 'red' })
    await deploy(process, dag({ name: 'report', trigger: HOURLY, steps: 'b' }))
    await process.catalog.retire({ tenant: null, name: 'report', version: null, actor: null })
    await process.pass(HOUR)
    expect((await instances(process, 'report')).map((i) => i.tenant)).toEqual(['red'])
    expect((await refusal(start(process, 'report'))).code).toBe('conflict')
  })
})
