/** The text of a definition from its bytes. Invalid UTF-8 is reported with its line, too. */
import { DefinitionError } from './mistakes.ts'

const NEWLINE = 0x0a

export function definitionText(file: string, bytes: Uint8Array): string {
  try {
    return decoder().decode(bytes)
  } catch {
    const message = 'the file is not UTF-8: the byte here begins no character'
    throw new DefinitionError(file, [{ ...firstWrong(bytes), path: '', message, hint: 'save the file as UTF-8' }])
  }
}

function firstWrong(bytes: Uint8Array): { readonly line: number; readonly column: number } {
  for (let line = 1, start = 0; ; line++) {
    const end = bytes.indexOf(NEWLINE, start)
    const rest = bytes.subarray(start, end < 0 ? undefined : end)
    const valid = validLength(rest)
    if (valid !== null || end < 0) return { line, column: (valid ?? 0) + 1 }
    start = end + 1
  }
}

/** Characters before the first invalid byte; null: all of it is UTF-8. */
function validLength(bytes: Uint8Array): number | null {
  const streaming = decoder()
  let characters = 0
  for (let at = 0; at <= bytes.length; at++) {
    try {
      characters += streaming.decode(bytes.subarray(at, at + 1), { stream: at < bytes.length }).length
    } catch {
      return characters
    }
  }
  return null
}

function decoder(): InstanceType<typeof TextDecoder> {
  return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
}
