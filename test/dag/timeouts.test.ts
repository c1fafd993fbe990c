/**
 * Timeouts belong to the engine: they fire with no worker running, while a workflow is blocked, and, if every process
 * was down when one was due, as soon as a process runs again. A rollback, once begun, is not interrupted.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Engine } from '../../src/engine/engine.ts'
import { readDefinition } from '../../src/operations/definitions/read.ts'
import { openStore } from '../../src/store/open.ts'
import type { Delivery } from '../../src/worker/port.ts'
import { Later } from './later.ts'
import { SimulatedProcess } from './simulated-process.ts'
import { STORES } from './stores.ts'

const MINUTE_MS = 60_000
const from = { Engine, openStore, readDefinition }

/** create, then `second`, then send; create has a compensation. The whole workflow may take 30 minutes. */
const flow = (second: string, failurePolicy: 'abort' | 'compensate'): string => `
apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: clocks }
spec:
  timeout: 30m
  failurePolicy: ${failurePolicy}
  steps:
    - { name: create, uses: work }
    - { name: second, dependsOn: [create], ${second} }
    - { name: send, uses: work, dependsOn: [second] }
  compensation:
    - { step: create, uses: undo }
`
const GATE = 'approval: { title: Go on? }'

describe.each(STORES)('timeouts on $name', (place) => {
  let url = ''
  let drop: () => Promise<void>
  let offsetMs = 0
  let held: string[] = []
  let process: SimulatedProcess | null = null
  let later: Later | null = null

  beforeEach(async () => {
    ;({ url, drop } = await place.open())
    const store = await openStore(url)
    await store.migrate()
    await store.close()
    offsetMs = 0
  })

  afterEach(async () => {
    await process?.close()
    await later?.close()
    process = null
    later = null
    await drop()
  })

  async function begin(second: string, failurePolicy: 'abort' | 'compensate'): Promise<string> {
    held = []
    process = await SimulatedProcess.open(from, url, { types: ['work', 'undo'], holding: () => held })
    const { start } = await readDefinition('clocks.yaml', flow(second, failurePolicy))
    const [started] = await process.engine.start([start])
    return (started as { id: string }).id
  }

  /** The worker of the first process takes the next run and reports its start. */
  async function take(): Promise<Delivery> {
    const { session } = process as SimulatedProcess
    const [delivery] = (await session.claim(1)) as [Delivery]
    held.push(delivery.runId)
    await session.started([{ runId: delivery.runId, epoch: delivery.epoch, at: Date.now() }])
    return delivery
  }

  async function end(delivery: Delivery, outcome: 'succeeded' | 'failed' | 'governance'): Promise<void> {
    const reply = await (process as SimulatedProcess).report({ delivery, outcome, result: '{}', wantNext: false })
    expect(reply).toMatchObject({ status: 'recorded' })
    held = held.filter((id) => id !== delivery.runId)
  }

  /** It is blocked there. */
  async function openGate(id: string): Promise<string> {
    const { read } = (process as SimulatedProcess).engine.store
    expect((await read.instance(id))?.state).toBe('waiting')
    const [gate] = await read.openGates({ instanceId: id, limit: 10 })
    return (gate as { id: string }).id
  }

  /** Time passes without any notification. */
  async function pass(minutes: number): Promise<void> {
    offsetMs += minutes * MINUTE_MS
    const store = await openStore(url)
    await store.moveClock(offsetMs)
    await store.close()
  }

  /** Every process is gone: no sweeper, no worker. */
  async function allDown(): Promise<void> {
    await process?.die()
    process = null
  }

  /** A process that sweeps by itself and has no worker. */
  async function comeBack(): Promise<Later> {
    later = await Later.open(url)
    return later
  }

  describe.each([
    { when: 'with no worker alive', down: false },
    { when: 'though every process was down over the deadline', down: true },
  ])('$when', ({ down }) => {
    /** Only a process without workers is left, now or when the time has passed. */
    async function passUnattended(minutes: number): Promise<Later> {
      if (down) await allDown()
      else await (process as SimulatedProcess).session.close()
      const before = down ? null : await comeBack()
      await pass(minutes)
      return before ?? (await comeBack())
    }

    it('a workflow that is blocked at a gate fails by its timeout, and the gate is closed', async () => {
      const id = await begin(GATE, 'abort')
      await end(await take(), 'succeeded')
      const gateId = await openGate(id)
      const there = await passUnattended(31)
      expect(await there.ended(id)).toMatchObject({ state: 'failed', outcome: 'timed_out' })
      const view = await there.engine.view(id)
      expect(view?.error).toMatchObject({ code: 'timeout' })
      expect((await there.engine.queries.gate(gateId))?.state).toBe('closed')
      const answer = there.engine.answerGate({ gateId, approved: true, actor: 'ann' })
      await expect(answer).rejects.toMatchObject({ code: 'conflict' })
      expect(view?.runs.filter((run) => run.role === 'undo')).toEqual([])
    })

    it('a workflow that is blocked at a gate is rolled back by its timeout if the policy requires it', async () => {
      const id = await begin(GATE, 'compensate')
      await end(await take(), 'succeeded')
      const there = await passUnattended(31)
      await there.state(id, 'compensating')
      expect(await there.work(id)).toMatchObject({ state: 'compensated', outcome: 'rolled_back' })
      expect(there.done).toEqual(['undo create'])
    })

    it('a workflow that is blocked because governance forbade a step ends by its timeout like any other', async () => {
      const id = await begin('uses: work', 'compensate')
      await end(await take(), 'succeeded')
      await end(await take(), 'governance')
      const gateId = await openGate(id)
      const there = await passUnattended(31)
      await there.state(id, 'compensating')
      expect((await there.engine.queries.gate(gateId))?.state).toBe('closed')
      expect(await there.work(id)).toMatchObject({ state: 'compensated', outcome: 'rolled_back' })
      expect(there.done).toEqual(['undo create'])
      expect((await there.engine.view(id))?.error).toMatchObject({ code: 'timeout' })
    })

    it('work that a worker still held at the deadline is given up, and completed steps are undone', async () => {
      const id = await begin('uses: work', 'compensate')
      await end(await take(), 'succeeded')
      await take()
      const there = await passUnattended(31)
      expect(await there.work(id)).toMatchObject({ state: 'compensated', outcome: 'rolled_back' })
      expect(there.done).toEqual(['undo create'])
      expect((await there.engine.view(id))?.error).toMatchObject({ code: 'timeout' })
    })

    it('work that has not begun does not begin after the deadline', async () => {
      const id = await begin('uses: work', 'abort')
      const there = await passUnattended(31)
      expect(await there.work(id)).toMatchObject({ state: 'failed', outcome: 'timed_out' })
      expect(there.done).toEqual([])
    })

    it('a step ends by its own timeout, and its failure policy applies', async () => {
      const id = await begin('uses: work, timeout: 5m, onFailure: compensate', 'abort')
      await end(await take(), 'succeeded')
      await take()
      const there = await passUnattended(6)
      await there.state(id, 'compensating')
      expect(await there.work(id)).toMatchObject({ state: 'compensated', outcome: 'rolled_back' })
      expect(there.done).toEqual(['undo create'])
      expect((await there.engine.view(id))?.error).toMatchObject({ code: 'timeout', node: 'second' })
    })

    it('a step that is skipped by its own timeout lets the next one begin', async () => {
      const id = await begin('uses: work, timeout: 5m, onFailure: skip', 'compensate')
      await end(await take(), 'succeeded')
      await take()
      const there = await passUnattended(6)
      expect(await there.work(id)).toMatchObject({ state: 'completed' })
      expect(there.done).toEqual(['send'])
    })

    it('a gate is rejected by its own deadline, and its failure policy applies', async () => {
      const id = await begin('approval: { title: Go on?, deadline: 5m }, onFailure: compensate', 'abort')
      await end(await take(), 'succeeded')
      const there = await passUnattended(6)
      expect(await there.work(id)).toMatchObject({ state: 'compensated', outcome: 'rolled_back' })
      expect(there.done).toEqual(['undo create'])
      expect((await there.engine.view(id))?.error).toMatchObject({ code: 'rejected', node: 'second' })
    })

    it('a rollback that had begun is finished, however long after the deadline', async () => {
      const id = await begin('uses: work', 'compensate')
      await end(await take(), 'succeeded')
      await end(await take(), 'failed')
      await take()
      const there = await passUnattended(600)
      await there.settled()
      expect((await there.engine.view(id))?.instance.state).toBe('compensating')
      expect(await there.work(id)).toMatchObject({ state: 'compensated', outcome: 'rolled_back' })
      expect(there.done).toEqual(['undo create'])
      expect((await there.engine.view(id))?.error).toMatchObject({ code: 'boom', node: 'second' })
    })
  })

  it('an undo that runs when the deadline passes is neither stopped nor refused', async () => {
    const id = await begin('uses: work', 'compensate')
    await end(await take(), 'succeeded')
    await end(await take(), 'failed')
    const undo = await take()
    offsetMs += 600 * MINUTE_MS
    await (process as SimulatedProcess).pass(offsetMs)
    await end(undo, 'succeeded')
    expect((await process?.engine.view(id))?.instance).toMatchObject({ state: 'compensated', outcome: 'rolled_back' })
  })

  it('time at a gate counts: the rest of the workflow has the remaining time', async () => {
    const id = await begin(GATE, 'compensate')
    await end(await take(), 'succeeded')
    await pass(20)
    const { engine } = process as SimulatedProcess
    await engine.answerGate({ gateId: await openGate(id), approved: true, actor: 'ann' })
    await (process as SimulatedProcess).session.close()
    const there = await comeBack()
    await pass(9)
    await there.settled()
    expect((await there.engine.view(id))?.instance.state).toBe('running')
    await pass(2)
    await there.state(id, 'compensating')
    expect(await there.work(id)).toMatchObject({ state: 'compensated' })
  })

  it('the timeout of the workflow ends a step with a longer one; work that a worker still holds is taken from it', async () => {
    const id = await begin('uses: work, timeout: 2h', 'compensate')
    await end(await take(), 'succeeded')
    const active = await take()
    offsetMs += 31 * MINUTE_MS
    await (process as SimulatedProcess).pass(offsetMs)
    expect((await process?.engine.view(id))?.instance).toMatchObject({ state: 'compensating', phase: 'undo' })
    const late = { delivery: active, outcome: 'succeeded', result: '{}', wantNext: false } as const
    expect(await process?.report(late)).toMatchObject({ status: 'stale' })
    const undo = await take()
    expect([undo.role, undo.node]).toEqual(['undo', 'create'])
    await end(undo, 'succeeded')
    expect((await process?.engine.view(id))?.instance).toMatchObject({ state: 'compensated' })
  })
})
