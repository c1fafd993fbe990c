/** Decimal digits of a float as Python rounds them: the exact binary value, a tie to the even digit. */

/** `digits` after the point, at most 100. */
export function fixed(number: number, digits: number): string {
  if (!Number.isFinite(number)) return Number.isNaN(number) ? 'nan' : number > 0 ? 'inf' : '-inf'
  const sign = number < 0 || Object.is(number, -0) ? '-' : ''
  const size = Math.abs(number)
  if (size >= 1e21) return sign + BigInt(size).toString() + (digits > 0 ? `.${'0'.repeat(digits)}` : '')
  const rounded = size.toFixed(digits)
  const exact = size.toFixed(Math.min(digits + 30, 100))
  const kept = digits === 0 ? exact.indexOf('.') : exact.length - Math.min(30, 100 - digits)
  return sign + (isTie(exact.slice(kept)) && isOdd(rounded) ? exact.slice(0, kept) : rounded)
}

/** One digit before the point, `digits` after it, at most 100; the exponent has two digits at least. */
export function exponential(number: number, digits: number): string {
  const sign = number < 0 || Object.is(number, -0) ? '-' : ''
  const size = Math.abs(number)
  const [rounded, power] = size.toExponential(digits).split('e') as [string, string]
  const [exact] = size.toExponential(Math.min(digits + 30, 100)).split('e') as [string]
  const kept = digits === 0 ? 1 : digits + 2
  const mantissa = isTie(exact.slice(kept)) && isOdd(rounded) ? exact.slice(0, kept) : rounded
  const exponent = Number(power)
  return `${sign}${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
}

/** The dropped part is exactly a half, which toFixed rounded up. */
function isTie(rest: string): boolean {
  return /^\.?50*$/.test(rest)
}

function isOdd(digits: string): boolean {
  return Number(digits.at(-1)) % 2 === 1
}
