import { describe, expect, it } from 'vitest'
import { cronInWords } from './cron-words.ts'

describe('a cron expression in words', () => {
  it.each([
    ['0 6 * * *', 'at 06:00 every day'],
    ['30 9 * * mon', 'at 09:30 on Monday'],
    ['30 9 * * 1-5', 'at 09:30 from Monday to Friday'],
    ['0 9 * * sat,sun', 'at 09:00 on Saturday and Sunday'],
    ['0 9 * * 1,3,7', 'at 09:00 on Monday, Wednesday and Sunday'],
    ['0 0 1 * *', 'at 00:00 on day 1 of every month'],
    ['* * * * *', 'every minute'],
    ['*/15 * * * *', 'every 15 minutes'],
    ['*/15 * * * mon-fri', 'every 15 minutes, from Monday to Friday'],
    ['5 * * * *', 'at minute 5 of every hour'],
    ['5 */2 * * *', 'at minute 5 of every 2 hours from 0'],
    ['@hourly', 'at minute 0 of every hour'],
    ['@every 1h30m', 'every 1h30m'],
  ])('%s: %s', (expression, words) => expect(cronInWords(expression)).toBe(words))

  it.each([
    '0 6 1 1 *',
    '0 6 1 * mon',
    '0,30 6 * * *',
    '*/7 * * * *',
    '0 6 * * mon#2',
    '0 6 0 * *',
    '61 * * * *',
    'soon',
  ])('%s has none', (expression) => expect(cronInWords(expression)).toBeNull())
})
