/** Runs every example with the command in its first lines. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { root, shell } from './petrel.ts'

const sh = shell()
const example = (name: string): string => join(root, 'examples', name)

describe('examples', () => {
  it('order.mjs', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, [example('order.mjs')])
    expect(stdout).toBe('receipt for ord_123\nshipping for ord_123\n')
  })

  it('order.chain.yaml with its handlers', async () => {
    const { code, json } = await sh.petrel(
      'run',
      example('order.chain.yaml'),
      '--handlers',
      example('order.handlers.mjs'),
      '--json',
    )
    expect(code).toBe(0)
    expect(json().results).toMatchObject({
      2: { 0: { sent: 'receipt' }, 1: { sent: 'shipping' } },
      3: { closed: true, charged: 42.5 },
    })
    expect(json().runs.find((r: any) => r.type === 'payment.charge').attempt).toBe(1)
  })

  it('order.chain.yaml as a dry run', async () => {
    expect((await sh.petrel('run', example('order.chain.yaml'), '--mock')).code).toBe(0)
  })

  it('publish.net.yaml as a dry run: approved, rendered, and published after an hour', async () => {
    const { code, json } = await sh.petrel('run', example('publish.net.yaml'), '--mock', '--json')
    expect(code).toBe(0)
    const published = json().trace.find((s: any) => s.node === 'publish')
    expect(published.at_ms).toBeGreaterThanOrEqual(3_600_000)
    expect(json().results.publish).toMatchObject({ title: 'Storm petrels' })
    expect(json().results.render[2]).toMatchObject({ page: 'index' })
  })

  it('publish.net.yaml with its outcomes: rejected after two days, undone newest first', async () => {
    const { code, json } = await sh.petrel(
      'run',
      example('publish.net.yaml'),
      '--mock',
      example('publish.outcomes.yaml'),
      '--json',
    )
    expect(code).toBe(1)
    expect(json().instance.state).toBe('compensated')
    const undone = json()
      .trace.filter((s: any) => s.role === 'undo')
      .map((s: any) => `${s.node}${s.item === null ? '' : `[${s.item}]`}`)
    // Page 1 needed three attempts, so it ended last.
    expect(undone[0]).toBe('render[1]')
    expect(undone.at(-1)).toBe('draft')
    expect(undone).toHaveLength(4)
    expect(json().trace.filter((s: any) => s.role === 'final')).toMatchObject([
      { node: 'report', outcome: 'succeeded' },
    ])
  })

  it('onboarding.workflow.yaml as a dry run, and with its outcomes: undone newest first', async () => {
    const file = example('onboarding.workflow.yaml')
    expect((await sh.petrel('check', file, '--strict')).code).toBe(0)
    expect((await sh.petrel('run', file, '--mock')).code).toBe(0)
    const { code, json } = await sh.petrel('run', file, '--mock', example('onboarding.outcomes.yaml'), '--json')
    expect(code).toBe(1)
    const undone = json().trace.filter((s: any) => s.role === 'undo')
    expect(undone.map((s: any) => s.node)).toEqual(['provision-workspace', 'create-account'])
  })

  it('payout.workflow.yaml as a dry run: checked, approved, transferred by a workflow in another file', async () => {
    const input = ['--input', '{ "claim": 117, "amount": 1200 }']
    const { code, json } = await sh.petrel('run', example('payout.workflow.yaml'), '--mock', '--json', ...input)
    expect(code).toBe(0)
    expect(json().results.pay.send.transfer).toBe('xxx')
    expect(json().results.inform).toMatchObject({ action: 'Tell the customer about transfer xxx' })
    expect((await sh.petrel('check', example('payout.workflow.yaml'), '--strict')).code).toBe(0)
  })

  it('payout.workflow.yaml with its outcomes: forbidden, allowed, refused by the bank, rolled back', async () => {
    const { code, json } = await sh.petrel(
      'run',
      example('payout.workflow.yaml'),
      '--mock',
      example('payout.outcomes.yaml'),
      '--json',
      '--input',
      '{ "claim": 117, "amount": 1200 }',
    )
    expect([code, json().instance.state]).toEqual([1, 'compensated'])
    const steps = json().trace.filter((s: any) => s.node !== null && s.name === 'transfer')
    expect(steps.map((s: any) => `${s.role === 'undo' ? 'undo ' : ''}${s.node} ${s.outcome}`)).toEqual([
      'reserve succeeded',
      'send retrying',
      'send retrying',
      'send failed',
      'send stopping',
      'undo reserve succeeded',
    ])
  })
})
