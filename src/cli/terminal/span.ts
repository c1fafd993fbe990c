/** A duration given on the command line. */
import { InvalidArgumentError } from 'commander'

const UNITS: { readonly [unit: string]: number } = { m: 60_000, h: 3_600_000, d: 86_400_000 }

export function spanMs(text: string): number {
  const found = /^(\d{1,6})([mhd])$/.exec(text)
  const ms = found === null ? 0 : Number(found[1]) * (UNITS[found[2] as string] as number)
  if (ms > 0) return ms
  throw new InvalidArgumentError('a number and m, h or d, such as 12h or 90d.')
}
