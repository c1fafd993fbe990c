/** Fields that bodies of several OJS routes have. */
import { type More, type Schema, text } from '../../../../wire/schema.ts'
import { CRON_NAME, follows, type NameRule, QUEUE_NAME, TYPE_NAME, WORKER_NAME } from '../../compile/names.ts'

export const JOB_TYPE = nameOf(TYPE_NAME, {
  description: 'The kind of work, which selects the handler.',
  examples: ['email.send'],
})

export const QUEUE = nameOf(QUEUE_NAME, { description: 'Lower case, digits, dots and hyphens.', default: 'default' })

export const CRON_FIELD = nameOf(CRON_NAME, { description: 'Registering it again replaces it.' })

export const WORKER_ID = nameOf(WORKER_NAME, { description: 'Any name that the worker keeps while it runs.' })

/** In the words of the readers in ojs/compile. */
function nameOf(rule: NameRule, more: More): Schema<string> {
  const { pattern, longest, is, hint } = rule
  return text({
    pattern: pattern.source,
    maxLength: longest,
    is,
    hint,
    fits: (value: string) => follows(rule, value),
    ...more,
  })
}
