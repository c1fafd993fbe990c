/** `text % values`, Python's older formatting, for `"%s: %5.2f" % (name, x)` and the filter `format`. */
import type { Meter } from '../budget.ts'
import { ExprError } from '../errors.ts'
import { exponential, fixed } from './decimal.ts'
import { repr, str } from './print.ts'
import { characters, textLength } from './text.ts'
import {
  type AnyDict,
  hasKey,
  isDict,
  isFloat,
  isInt,
  isList,
  numberOf,
  Tuple,
  typeName,
  type Value,
  valueAt,
} from './value.ts'

const FIELD = /%(?:\(([^)]{0,200})\))?([-+ 0#]*)(\*|\d+)?(?:\.(\*|\d*))?[hlL]?(.)?/gsu
/** toFixed gives at most this many digits. */
const MOST_DIGITS = 100

interface Field {
  readonly flags: string
  readonly width: number
  readonly precision: number | null
}

export function printf(text: string, given: Value, meter: Meter): string {
  const values = new Values(given)
  const pieces: string[] = []
  let from = 0
  for (const match of text.matchAll(FIELD)) {
    const [whole, key, flags = '', width, precision, conversion] = match
    pieces.push(text.slice(from, match.index))
    from = match.index + whole.length
    meter.step()
    if (whole === '%%') {
      pieces.push('%')
      continue
    }
    if (conversion === undefined) throw new ExprError('expr_value', `'${whole}' ends too early: write %% for a percent`)
    const size = (given: string | undefined) => (given === '*' ? values.size() : Number(given || 0))
    const field = { flags, width: size(width), precision: precision === undefined ? null : size(precision) }
    meter.produce(Math.max(field.width, field.precision ?? 0))
    pieces.push(meter.text(written(conversion, field, conversion === '%' ? null : values.take(key), meter)))
  }
  values.done()
  pieces.push(text.slice(from))
  return meter.text(pieces.join(''))
}

class Values {
  readonly #given: Value
  readonly #items: readonly Value[]
  readonly #dict: AnyDict | null
  #at = 0
  #named = false

  constructor(given: Value) {
    this.#given = given
    this.#items = given instanceof Tuple ? given.items : [given]
    this.#dict = isDict(given) ? given : null
  }

  take(key: string | undefined): Value {
    if (key === undefined) {
      if (this.#at >= this.#items.length) throw new ExprError('expr_type', 'there are fewer values than % fields')
      return this.#items[this.#at++]
    }
    if (this.#dict === null) throw new ExprError('expr_type', `%(${key}) needs a dict, not ${typeName(this.#given)}`)
    this.#named = true
    if (!hasKey(this.#dict, key)) throw new ExprError('expr_value', `%(${key}): the dict has no such key`)
    return valueAt(this.#dict, key)
  }

  size(): number {
    const size = this.take(undefined)
    if (!isInt(size) || size < 0) throw new ExprError('expr_type', `'*' needs an int that is not negative`)
    return size
  }

  done(): void {
    if (this.#named || isDict(this.#given) || isList(this.#given) || this.#at >= this.#items.length) return
    throw new ExprError('expr_type', 'there are more values than % fields')
  }
}

function written(conversion: string, field: Field, value: Value, meter: Meter): string {
  switch (conversion) {
    case '%':
      return '%'
    case 's':
    case 'r': {
      const text = conversion === 's' ? str(value, meter) : repr(value, meter)
      const kept = field.precision === null ? text : characters(text, meter).slice(0, field.precision).join('')
      return padded(kept, { ...field, flags: field.flags.replaceAll('0', '') }, meter)
    }
    case 'c':
      return padded(character(value), { ...field, flags: field.flags.replaceAll('0', '') }, meter)
    case 'd':
    case 'i':
    case 'u':
      return decimal(wholeOf(value, conversion), field, meter)
    case 'o':
    case 'x':
    case 'X':
      return inBase(conversion, value, field, meter)
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G': {
      const number = numberIn(value, conversion)
      const text = floating(conversion.toLowerCase(), Math.abs(number), field)
      const negative = number < 0 || Object.is(number, -0)
      return signed(conversion === conversion.toUpperCase() ? text.toUpperCase() : text, negative, field, meter)
    }
    default:
      throw new ExprError('expr_value', `there is no %${conversion}: use one of %s %r %c %d %i %o %x %X %e %f %g %%`)
  }
}

function padded(text: string, { flags, width }: Field, meter: Meter): string {
  const missing = width - textLength(text, meter)
  if (missing <= 0) return text
  return flags.includes('-') ? text + ' '.repeat(missing) : ' '.repeat(missing) + text
}

/** Zeros go between the sign and the digits. */
function signed(digits: string, negative: boolean, field: Field, meter: Meter, prefix = ''): string {
  const { flags, width } = field
  const sign = (negative ? '-' : flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '') + prefix
  const zeros = flags.includes('0') && !flags.includes('-')
  return padded(sign + (zeros ? digits.padStart(width - sign.length, '0') : digits), field, meter)
}

function decimal(whole: number, field: Field, meter: Meter): string {
  return signed(digitsOf(Math.abs(whole), 10, field), whole < 0, field, meter)
}

function digitsOf(whole: number, base: number, { precision }: Field): string {
  // Beyond 1e21 a number prints with an exponent.
  return BigInt(whole)
    .toString(base)
    .padStart(precision ?? 0, '0')
}

function inBase(conversion: 'o' | 'x' | 'X', value: Value, field: Field, meter: Meter): string {
  if (!isInt(value) && typeof value !== 'boolean') {
    throw new ExprError('expr_type', `%${conversion} needs an int, not ${typeName(value)}`)
  }
  const whole = Number(value)
  const digits = digitsOf(Math.abs(whole), conversion === 'o' ? 8 : 16, field)
  const prefix = field.flags.includes('#') ? `0${conversion}` : ''
  return signed(conversion === 'X' ? digits.toUpperCase() : digits, whole < 0, field, meter, prefix)
}

function floating(conversion: string, size: number, { flags, precision }: Field): string {
  if (!Number.isFinite(size)) return Number.isNaN(size) ? 'nan' : 'inf'
  const digits = precision ?? 6
  if (digits > MOST_DIGITS) throw new ExprError('expr_value', `a float has at most ${MOST_DIGITS} digits here`)
  if (conversion === 'f') return fixed(size, digits)
  if (conversion === 'e') return exponential(size, digits)
  const significant = Math.max(1, digits)
  const power = Number(exponential(size, significant - 1).split('e')[1])
  const short = power < -4 || power >= significant
  const text = short ? exponential(size, significant - 1) : fixed(size, significant - 1 - power)
  if (flags.includes('#')) return text
  const [mantissa = '', exponent] = text.split('e')
  const trimmed = mantissa.includes('.') ? mantissa.replace(/\.?0+$/, '') : mantissa
  return exponent === undefined ? trimmed : `${trimmed}e${exponent}`
}

function numberIn(value: Value, conversion: string): number {
  const number = numberOf(value)
  if (number !== null) return number
  throw new ExprError(
    'expr_type',
    `%${conversion} needs a number, not ${typeName(value)}: use \`| int\` or \`| float\``,
  )
}

function wholeOf(value: Value, conversion: string): number {
  const number = numberIn(value, conversion)
  if (!Number.isFinite(number)) throw new ExprError('expr_value', `%${conversion} needs a finite number`)
  return isFloat(value) ? Math.trunc(number) : number
}

function character(value: Value): string {
  if (typeof value === 'string' && value.length <= 2 && Array.from(value).length === 1) return value
  if (isInt(value) && value >= 0 && value <= 0x10ffff) return String.fromCodePoint(value)
  throw new ExprError('expr_type', '%c needs one character or its code point')
}
