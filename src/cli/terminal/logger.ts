/** The log of a long-running process: JSON lines on stderr, from `warn` up; PETREL_LOG sets another level. */
import type { Logger } from '../../kernel/logger.ts'

export async function serviceLogger(): Promise<Logger> {
  const { pino } = await import('pino')
  const level = process.env['PETREL_LOG'] ?? 'warn'
  const known = [...Object.keys(pino.levels.values), 'silent'].includes(level)
  const log = pino({ name: 'petrel', level: known ? level : 'warn' }, pino.destination({ dest: 2, sync: true }))
  return {
    debug: (context, message) => log.debug(context, message),
    info: (context, message) => log.info(context, message),
    warn: (context, message) => log.warn(context, message),
    error: (context, message) => log.error(context, message),
  }
}
