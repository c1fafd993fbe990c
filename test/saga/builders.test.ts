/**
 * How commands are built, in code and in files, and how sagas are registered and started. On both stores, with replies
 * sent by the test.
 */

import { expect, it, vi } from 'vitest'
import { type Json, type Petrel, saga } from '../../src/index.ts'
import type { CommandRow } from '../../src/model/commands.ts'
import { Catalog } from '../../src/operations/definitions/catalog.ts'
import { engineOf } from '../engine-of.ts'
import { onBothStores } from '../sdk/stores.ts'

const SUBJECT = 'shop.v1.orders.reserve'

const order = saga<{ item: string }>({
  name: 'order',
  version: '1',
  steps: [
    {
      name: 'reserve',
      subject: SUBJECT,
      compensationSubject: 'shop.v1.orders.release',
      buildCommand: (request) => ({ item: request.item, z: 1, a: 2 }),
      buildCompensation: (command, result) => ({ was: command, answered: result }),
    },
    {
      name: 'charge',
      subject: 'pay.v1.cards.charge',
      buildCommand: async (request, results) => ({ item: request.item, reservation: results['reserve'].id }),
    },
  ],
})

onBothStores('commands of sagas', (stage) => {
  /** The next command to be published. */
  const next = (petrel: Petrel): Promise<CommandRow> =>
    vi.waitFor(
      async () => {
        const [row] = await engineOf(petrel).commands.take({ limit: 1, holdMs: 600_000 })
        expect(row).toBeDefined()
        return row as CommandRow
      },
      { timeout: 10_000, interval: 20 },
    )
  const answer = (petrel: Petrel, { runId }: CommandRow, result: Json) => petrel.complete(runId, result)
  const deploy = (petrel: Petrel, text: string) =>
    new Catalog({ engine: engineOf(petrel), logger: null }).deploy({ file: 'a.yaml', text, tenant: null, actor: null })

  it('are built from the request and the previous results, and their undo from the command and its reply', async () => {
    const petrel = await stage.open()
    await petrel.saga(order)
    await petrel.work()
    const handle = await petrel.startSaga('order', { item: 'lamp' }, { correlationId: 'c-1', initiator: 'ann' })
    const reserve = await next(petrel)
    expect(reserve).toMatchObject({ node: 'reserve', role: 'work', subject: SUBJECT, instanceId: handle.id })
    // Byte for byte: a JSON column would sort the keys.
    expect(reserve.body).toBe('{"item":"lamp","z":1,"a":2}')
    await answer(petrel, reserve, { id: 'r1' })
    const charge = await next(petrel)
    expect(JSON.parse(charge.body)).toEqual({ item: 'lamp', reservation: 'r1' })
    await petrel.fail(charge.runId, { code: 'step_failed', message: 'no money' })
    const undo = await next(petrel)
    expect(undo).toMatchObject({ node: 'reserve', role: 'undo', subject: 'shop.v1.orders.release' })
    expect(JSON.parse(undo.body)).toEqual({ was: { item: 'lamp', z: 1, a: 2 }, answered: { id: 'r1' } })
    await answer(petrel, undo, null)
    await expect(handle.result()).rejects.toMatchObject({ message: expect.stringContaining('no money') })
    expect(await engineOf(petrel).queries.sagas.get(handle.id)).toMatchObject({
      state: 'compensated',
      correlationId: 'c-1',
      createdBy: 'ann',
      error: expect.stringContaining('no money'),
    })
  })

  it('are undone when the saga is cancelled by its handle', async () => {
    const petrel = await stage.open()
    await petrel.saga(order)
    await petrel.work()
    const handle = await petrel.startSaga('order', { item: 'lamp' })
    await answer(petrel, await next(petrel), { id: 'r1' })
    const charge = await next(petrel)
    expect(await handle.cancel('ann')).toBe('compensating')
    await petrel.fail(charge.runId, { code: 'step_failed', message: 'no money' })
    const undo = await next(petrel)
    expect(undo).toMatchObject({ node: 'reserve', role: 'undo' })
    await answer(petrel, undo, null)
    expect(await engineOf(petrel).ended({ id: handle.id, kind: 'instance' })).toBe('compensated')
  })

  it('in files are rendered, keep their types, and default to the request or the reply', async () => {
    const petrel = await stage.open()
    await deploy(
      petrel,
      `apiVersion: petrel.dev/v1
kind: Saga
metadata: { name: plain }
spec:
  steps:
    - name: first
      command: { subject: ${SUBJECT} }
      compensation: { subject: shop.v1.orders.release }
    - name: second
      command:
        subject: pay.v1.cards.charge
        body: { n: '{{ request.n }}', text: 'n is {{ request.n }}', all: '{{ results.first }}' }
      compensation:
        subject: pay.v1.cards.refund
        body: { n: '{{ command.n }}', id: '{{ result.id }}', first: '{{ results.first.id }}', who: '{{ request.who }}' }
    - name: third
      command: { subject: shop.v1.mails.send }
`,
    )
    await petrel.saga()
    await petrel.work()
    await petrel.startSaga('plain', { n: 7, who: 'ann' })
    const first = await next(petrel)
    expect(JSON.parse(first.body)).toEqual({ n: 7, who: 'ann' })
    await answer(petrel, first, { id: 'f', deep: [1] })
    const second = await next(petrel)
    expect(JSON.parse(second.body)).toEqual({ n: 7, text: 'n is 7', all: { id: 'f', deep: [1] } })
    await answer(petrel, second, { id: 's' })
    await petrel.fail((await next(petrel)).runId, { code: 'x', message: 'no' })
    const undo = await next(petrel)
    expect(JSON.parse(undo.body)).toEqual({ n: 7, id: 's', first: 'f', who: 'ann' })
    await answer(petrel, undo, null)
    expect(JSON.parse((await next(petrel)).body)).toEqual({ id: 'f', deep: [1] })
  })

  it('that cannot be built fail their step with a visible error, and do not delay other sagas', async () => {
    const petrel = await stage.open()
    const odd = saga<{ how: string }>({
      name: 'odd',
      steps: [
        { name: 'fine', subject: SUBJECT, compensationSubject: 'shop.v1.orders.release', buildCommand: () => ({}) },
        {
          name: 'odd',
          subject: 'pay.v1.cards.charge',
          buildCommand: ({ how }) => {
            if (how === 'throws') throw new Error('no such currency')
            if (how === 'endless') return { text: 'x'.repeat(3_000_000) }
            return how === 'no json' ? { big: 10n } : { ok: true }
          },
        },
      ],
    })
    await petrel.saga(odd)
    await petrel.work()
    for (const [how, why] of [
      ['throws', 'no such currency'],
      ['no json', 'JSON'],
      ['endless', 'bytes'],
    ] as const) {
      const handle = await petrel.startSaga('odd', { how })
      await answer(petrel, await next(petrel), {})
      const undo = await next(petrel)
      expect(undo.role).toBe('undo')
      await answer(petrel, undo, null)
      await expect(handle.result()).rejects.toMatchObject({ message: expect.stringContaining(why) })
      const [, step] = await engineOf(petrel).queries.sagas.steps(handle.id)
      expect(step).toMatchObject({ name: 'odd', state: 'failed', commandJson: '', commandPublishedAt: null })
      expect(step?.error).toContain("the command of step 'odd' could not be built")
    }
    const fine = await petrel.startSaga('odd', { how: 'fine' })
    await answer(petrel, await next(petrel), {})
    await answer(petrel, await next(petrel), { ok: 1 })
    expect(await fine.result()).toEqual({ fine: {}, odd: { ok: 1 } })
  })

  it('of a version are built by processes that have it, whatever the latest version is', async () => {
    const petrel = await stage.open()
    const of = (version: string) =>
      saga({ name: 'versioned', version, steps: [{ name: 'a', subject: SUBJECT, buildCommand: () => ({ version }) }] })
    await petrel.saga(of('1'))
    const old = await petrel.startSaga('versioned', {})
    await petrel.saga(of('2'))
    const latest = await petrel.startSaga('versioned', {})
    const named = await petrel.startSaga('versioned', {}, { version: '1' })
    await petrel.work({ types: ['saga.code.versioned.v2'] })
    const only = await next(petrel)
    expect([only.instanceId, JSON.parse(only.body)]).toEqual([latest.id, { version: '2' }])
    await petrel.work({ types: ['saga.code.versioned.v1'] })
    const rest = [await next(petrel), await next(petrel)]
    expect(rest.map((row) => row.instanceId).sort()).toEqual([old.id, named.id].sort())
    expect(rest.map((row) => JSON.parse(row.body))).toEqual([{ version: '1' }, { version: '1' }])
  })

  it('a version that was used cannot change its shape', async () => {
    const petrel = await stage.open()
    await petrel.saga(order)
    await petrel.startSaga('order', { item: 'lamp' })
    const again = await stage.open()
    await again.saga(order)
    const other = await stage.open()
    const changed = saga({
      name: 'order',
      version: '1',
      steps: [{ name: 'x', subject: SUBJECT, buildCommand: () => 1 }],
    })
    await expect(other.saga(changed)).rejects.toMatchObject({ code: 'conflict' })
    expect(() => saga({ name: 'order', steps: [] })).not.toThrow()
    await expect(other.saga(saga({ name: 'order', version: '3', steps: [] }))).rejects.toMatchObject({
      code: 'invalid_definition',
    })
    const twice = { name: 'a', subject: SUBJECT, buildCommand: () => 1 }
    await expect(other.saga(saga({ name: 'twice', steps: [twice, twice] }))).rejects.toMatchObject({
      message: expect.stringContaining("two steps are called 'a'"),
    })
    await expect(
      other.saga(saga({ name: 'nowhere', steps: [{ name: 'a', subject: '', buildCommand: () => 1 }] })),
    ).rejects.toMatchObject({ message: expect.stringContaining('subject must be a string') })
  })

  it('an id starts one saga, and cannot be used for anything else', async () => {
    const petrel = await stage.open()
    await petrel.saga(order)
    const id = '0192f000-0000-7000-8000-000000000001'
    const first = await petrel.startSaga('order', { item: 'lamp' }, { id })
    const second = await petrel.startSaga('order', { item: 'another' }, { id })
    expect([first.id, first.created, second.id, second.created]).toEqual([id, true, id, false])
    await expect(petrel.startSaga('ordre', {})).rejects.toMatchObject({
      code: 'not_found',
      message: expect.stringContaining("did you mean 'order'?"),
    })
    await deploy(petrel, 'type: chain\nname: mails\nsteps: [{ type: mail.send, args: [] }]\n')
    await expect(petrel.startSaga('mails', {})).rejects.toMatchObject({
      message: expect.stringContaining('but as ojs, not as a saga'),
    })
    expect((await petrel.startSaga('order', { item: 'x' }, { tenant: 'acme' })).created).toBe(true)
    expect(
      await engineOf(petrel).queries.sagas.list({ tenant: 'acme', state: null, type: 'order', limit: 9, before: null }),
    ).toMatchObject([{ tenantId: 'acme', stepCount: 2 }])
  })
})
