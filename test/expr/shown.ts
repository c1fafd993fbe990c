/**
 * An answer as the list of differences writes it: a value as Python prints it, JSON, a text, or the name of an error.
 */
import type { Answer, Tagged } from './jinja2.ts'

export function shown(answer: Answer): string {
  if ('error' in answer) return answer.error
  if ('json' in answer) return JSON.stringify(answer.json)
  if ('text' in answer) return answer.text.replace(/<generator object .*>/, '<generator object …>')
  return shownValue(answer.value, true)
}

function shownValue([type, ...rest]: Tagged, outer = false): string {
  const items = () => rest.map((item) => shownValue(item as Tagged)).join(', ')
  switch (type) {
    case 'undefined':
      return 'undefined'
    case 'none':
      return 'None'
    case 'bool':
      return rest[0] === true ? 'True' : 'False'
    case 'str':
      return outer ? String(rest[0]) : `'${rest[0]}'`
    case 'list':
      return `[${items()}]`
    case 'tuple':
      return `(${items()})`
    case 'dict':
      return `{${(rest as (readonly [Tagged, Tagged])[]).map(([key, item]) => `${shownValue(key)}: ${shownValue(item)}`).join(', ')}}`
    default:
      return String(rest[0])
  }
}
