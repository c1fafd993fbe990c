/** Common cron expressions in words; null: the expression is not one of them. */

const EVERY: Readonly<Record<string, string>> = {
  '@yearly': 'at 00:00 on 1 January',
  '@annually': 'at 00:00 on 1 January',
  '@monthly': 'at 00:00 on day 1 of every month',
  '@weekly': 'at 00:00 on Sunday',
  '@daily': 'at 00:00 every day',
  '@midnight': 'at 00:00 every day',
  '@hourly': 'at minute 0 of every hour',
}
const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
const SHORT = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

export function cronInWords(expression: string): string | null {
  const text = expression.trim().toLowerCase()
  const interval = /^@every (\S+)$/.exec(text)
  if (interval !== null) return `every ${interval[1]}`
  const known = EVERY[text]
  if (known !== undefined) return known
  const fields = text.split(/\s+/)
  if (fields.length !== 5) return null
  const [minute, hour, day, month, weekday] = fields as [string, string, string, string, string]
  if (month !== '*') return null
  const when = timeInWords(minute, hour)
  const days = when === null ? null : daysInWords(day, weekday)
  if (when === null || days === null) return null
  if (when.daily) return `${when.words} ${days}`
  return days === 'every day' ? when.words : `${when.words}, ${days}`
}

function timeInWords(minute: string, hour: string): { readonly words: string; readonly daily: boolean } | null {
  const [m, h] = [numberIn(minute, 59), numberIn(hour, 23)]
  if (m !== null && h !== null) return { words: `at ${two(h)}:${two(m)}`, daily: true }
  if (m !== null && hour === '*') return { words: `at minute ${m} of every hour`, daily: false }
  const hours = stepOf(hour)
  if (m !== null && hours !== null) return { words: `at minute ${m} of every ${hours} hours from 0`, daily: false }
  if (hour !== '*') return null
  if (minute === '*') return { words: 'every minute', daily: false }
  const minutes = stepOf(minute)
  // With others the last interval of an hour is shorter.
  return minutes !== null && 60 % minutes === 0 ? { words: `every ${minutes} minutes`, daily: false } : null
}

function daysInWords(day: string, weekday: string): string | null {
  if (day === '*' && weekday === '*') return 'every day'
  if (weekday === '*') {
    const date = numberIn(day, 31)
    return date === null || date === 0 ? null : `on day ${date} of every month`
  }
  if (day !== '*') return null
  const range = weekday.split('-').map(dayIn)
  if (range.length === 2 && range[0] != null && range[1] != null) return `from ${range[0]} to ${range[1]}`
  const names = weekday.split(',').map(dayIn)
  if (names.some((name) => name === null)) return null
  return `on ${names.length === 1 ? names[0] : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`}`
}

function dayIn(text: string): string | null {
  const at = SHORT.indexOf(text)
  return DAYS[at >= 0 ? at : (numberIn(text, 7) ?? -1)] ?? null
}

function numberIn(text: string, most: number): number | null {
  return /^\d{1,2}$/.test(text) && Number(text) <= most ? Number(text) : null
}

/** n of a star and a slash. */
function stepOf(text: string): number | null {
  const step = /^\*\/(\d{1,2})$/.exec(text)
  return step === null || Number(step[1]) < 2 ? null : Number(step[1])
}

function two(n: number): string {
  return String(n).padStart(2, '0')
}
