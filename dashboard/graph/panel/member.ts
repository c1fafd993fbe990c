/** Parts of a JSON text, cut out as they stand: reading them would change numbers that are too long for a double. */

/** The text of the member at a path of names; null: there is none. */
export function memberText(json: string, path: readonly string[]): string | null {
  let at = blank(json, 0)
  for (const name of path) {
    const found = memberAt(json, at, name)
    if (found === null) return null
    at = found
  }
  return json.slice(at, valueEnd(json, at))
}

/** Where the value of a member begins. `at`: the object. */
function memberAt(json: string, at: number, name: string): number | null {
  if (json[at] !== '{') return null
  let here = blank(json, at + 1)
  while (json[here] === '"') {
    const end = stringEnd(json, here)
    const value = blank(json, blank(json, end) + 1)
    if (JSON.parse(json.slice(here, end)) === name) return value
    here = blank(json, valueEnd(json, value))
    if (json[here] === ',') here = blank(json, here + 1)
  }
  return null
}

function blank(json: string, at: number): number {
  while (/\s/.test(json[at] ?? '')) at++
  return at
}

function stringEnd(json: string, at: number): number {
  for (let i = at + 1; i < json.length; i++) {
    if (json[i] === '\\') i++
    else if (json[i] === '"') return i + 1
  }
  return json.length
}

function valueEnd(json: string, at: number): number {
  if (json[at] === '"') return stringEnd(json, at)
  let depth = 0
  for (let i = at; i < json.length; i++) {
    const char = json[i] as string
    if (char === '"') i = stringEnd(json, i) - 1
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') {
      if (depth === 0) return i
      depth--
      if (depth === 0) return i + 1
    } else if (depth === 0 && /[\s,]/.test(char)) return i
  }
  return json.length
}
