/** A number of a database as JSON: a number where that is exact, otherwise its text. */
export function exactNumber(text: string): number | string {
  const value = Number(text)
  if (!Number.isFinite(value)) return text
  return plainDigits(String(value)) === plainDigits(text) ? value : text
}

/** Sign, digits and exponent in a normal form: 1.50 and 1.5 and 15e-1 are the same. */
function plainDigits(text: string): string {
  const [, sign, whole, fraction = '', exponent = '0'] = /^([+-]?)(\d*)\.?(\d*)(?:e([+-]?\d+))?$/i.exec(text) ?? []
  if (whole === undefined) return text
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  const scale = Number(exponent) - fraction.length + (digits.length - significant.length)
  return `${sign === '-' ? '-' : ''}${significant}e${scale}`
}
