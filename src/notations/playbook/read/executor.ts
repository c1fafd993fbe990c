/** The first step, the final step, and the condition for success. */
import type { Part } from '../../source/reader.ts'
import type { Executor } from './playbook.ts'
import { type Reading, readSeconds } from './reading.ts'

const FIELDS = ['profile', 'kind', 'version', 'requires', 'spec']
const SPEC = ['entry_step', 'final_step', 'no_next_is_error', 'queue', 'timeout', 'policy']
const POLICY = ['failed_on', 'partial', 'pending', 'final_step_failure', 'join', 'limits', 'defaults', 'results']

/** Longer arguments are stored out of line and passed as references. */
const MAX_PAYLOAD_BYTES = 65_536

export function readExecutor(part: Part, reading: Reading): Executor {
  if (part.given) reading.fields(part, FIELDS, 'executor')
  const profile = part.get('profile')
  if (profile.given) profile.choice('profile', ['local', 'distributed', 'auto'])
  const requires = part.get('requires')
  if (requires.given) reading.fields(requires, ['tools', 'features'], 'requires')
  const spec = part.get('spec')
  if (spec.given) reading.fields(spec, SPEC, 'executor.spec')
  const policy = spec.get('policy')
  if (policy.given)
    reading.fields(policy, POLICY, 'executor.spec.policy', { lifecycle: 'executor: { spec: { timeout: … } }' })
  const limits = policy.get('limits')
  if (limits.given) reading.fields(limits, ['max_payload_bytes'], 'limits')
  warnOfDefaults(policy.get('defaults'), reading)
  return {
    entry: spec.get('entry_step').text('entry_step'),
    final: spec.get('final_step').text('final_step'),
    noNextIsError: spec.get('no_next_is_error').flag('no_next_is_error') ?? false,
    queue: spec.get('queue').text('queue'),
    timeoutMs: readSeconds(spec.get('timeout'), 'timeout'),
    failedOn: policy.get('failed_on').choice('failed_on', ['unhandled', 'any', 'fail_fast']) ?? 'unhandled',
    partial: policy.get('partial').flag('partial') ?? false,
    pending: policy.get('pending').choice('pending', ['wait', 'complete']) ?? 'wait',
    finalStepFailure: policy.get('final_step_failure').choice('final_step_failure', ['fail', 'partial']) ?? 'fail',
    join: policy.get('join').choice('join', ['each', 'all']) ?? 'each',
    maxPayloadBytes: limits.get('max_payload_bytes').whole('max_payload_bytes', { least: 256 }) ?? MAX_PAYLOAD_BYTES,
    requires: readRequired(requires.get('tools')),
    path: spec.path,
  }
}

/** Layers of defaults exist only in the notation's documents; an author would rely on a timeout that has no effect. */
function warnOfDefaults(part: Part, reading: Reading): void {
  if (!part.isObject) return
  for (const key of Object.keys(part.value as object)) {
    reading.idle(part.get(key), 'defaults are not inherited', 'say it on each step')
  }
}

/** Kinds of tools that workers provide. */
function readRequired(part: Part): readonly string[] {
  return part.items('tools').flatMap((item) => item.text('the kind of a tool') ?? [])
}
