/** Does nothing: a place for rules and sets. Its result is its `result`, otherwise the result of the task before it. */
import { ok } from './envelope.ts'
import { checkFields } from './fields.ts'
import type { Tool } from './tool.ts'

export const noop: Tool = {
  kind: 'noop',
  check: (config) => checkFields(config, { result: {} }),
  run: async ({ config, context }) =>
    ok(Object.hasOwn(config, 'result') ? config['result']! : (context['_prev'] ?? null)),
}
