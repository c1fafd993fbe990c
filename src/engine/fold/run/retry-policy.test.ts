import { describe, expect, it } from 'vitest'
import { net, node, run } from '../../../../test/engine/drive.ts'
import { FoldStage } from '../../../../test/fold/stage.ts'
import { aRun } from '../../../../test/store/rows.ts'
import type { RunRow } from '../../../model/rows.ts'
import type { Retry } from '../../../net/retry/retry.ts'
import { INBOX_RETRY, policyOf } from './retry-policy.ts'

const retry = (initialMs: number): Retry => ({ ...INBOX_RETRY, initialMs })
const NET = net([
  node('a', ['b'], {
    retry: retry(1),
    undo: { work: run('undo.a'), retry: retry(2), timeout: null } as never,
  }),
  node('b'),
])

function policy(change: Partial<RunRow>): Retry {
  const stage = new FoldStage()
  const instanceId = stage.start(NET)
  const row = aRun({ instanceId, node: 'a', ...change })
  return stage.act((working) => policyOf(working, row)).value
}

describe('the retry policy of a run', () => {
  it('is its own before that of its node', () => {
    expect(policy({ retry: JSON.stringify(retry(9)) }).initialMs).toBe(9)
    expect(policy({}).initialMs).toBe(1)
  })

  it('of an undo is that of the undo', () => {
    expect(policy({ role: 'undo' }).initialMs).toBe(2)
  })

  it('is that of the inbox by default', () => {
    expect(policy({ node: 'b' })).toBe(INBOX_RETRY)
    expect(policy({ instanceId: null, node: null })).toBe(INBOX_RETRY)
  })
})
