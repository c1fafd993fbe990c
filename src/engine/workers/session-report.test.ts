import { describe, expect, it } from 'vitest'
import { aRun } from '../../../test/store/rows.ts'
import type { Report } from '../../worker/port.ts'
import { deliveryOf } from '../transaction/deliveries.ts'
import { checkReport } from './session-report.ts'

const delivery = deliveryOf(aRun({ instanceId: 'i', node: 'a' }))
const report = (outcome: Report['outcome'], rest: Partial<Report> = {}): Report => ({
  delivery,
  reportId: 'r',
  wantNext: false,
  startedAt: null,
  outcome,
  ...rest,
})
const command = { subject: 'pay', body: '{}', resendMs: 1_000 }
const deferred = (change: Partial<typeof command>): Report =>
  report({ kind: 'deferred', command: { ...command, ...change } })

describe('the report of a session', () => {
  it('is unchanged if everything in it can be stored', () => {
    const given = report({ kind: 'succeeded', result: '7' }, { set: '{"a":1}', notes: '["n"]' })
    expect(checkReport(given, 1_000)).toEqual({ checked: given, remarks: { set: { a: 1 }, notes: ['n'] } })
    expect(checkReport(deferred({}), 1_000).checked).toEqual(deferred({}))
  })

  it.each<readonly [string, Report, RegExp]>([
    ['a result that is too long', report({ kind: 'succeeded', result: `"${'x'.repeat(2_000)}"` }), /^the result/],
    ['a subject with white space', deferred({ subject: 'a b' }), /^the command: a subject/],
    ['a body that is not JSON', deferred({ body: '{' }), /^the command: its body is not JSON/],
    ['a resend interval that is too short', deferred({ resendMs: 1 }), /^the command: resendMs/],
  ])('fails its run for %s', (_, given, message) => {
    const { outcome } = checkReport(given, 1_000).checked
    expect(outcome.kind === 'failed' ? outcome.error.message : outcome.kind).toMatch(message)
  })
})
