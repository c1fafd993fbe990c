/** How times, counts and values read in text for people. */

/** A duration in its largest units. */
export function span(ms: number): string {
  if (ms < 0) return `-${span(-ms)}`
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${trim(ms / 1000)} s`
  if (ms < 3_600_000) return two(ms, 60_000, 'min', 1000, 's')
  if (ms < 86_400_000) return two(ms, 3_600_000, 'h', 60_000, 'min')
  return two(ms, 86_400_000, 'd', 3_600_000, 'h')
}

function two(ms: number, large: number, largeName: string, small: number, smallName: string): string {
  const whole = Math.floor(ms / large)
  const rest = Math.floor((ms - whole * large) / small)
  return rest === 0 ? `${whole} ${largeName}` : `${whole} ${largeName} ${rest} ${smallName}`
}

function trim(value: number): string {
  return value < 10 ? value.toFixed(1).replace(/\.0$/, '') : String(Math.round(value))
}

/** A value in one short line. */
export function brief(value: unknown, length = 60): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'null')
  return text.length > length ? `${text.slice(0, length - 1)}…` : text
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`
}
