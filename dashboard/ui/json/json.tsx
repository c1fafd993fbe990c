/**
 * Data as JSON. It is printed from the text that the server sent, so that every digit of a number is shown as stored.
 * Of a large value the beginning is shown at once and the rest on request.
 */
import { useSignal } from '@preact/signals'
import { CopyButton } from '../copy.tsx'

const FIRST_CHARACTERS = 65_536

const TOKEN = /"(?:[^"\\]|\\.)*(?:"|$)|[[\]{},:]|[^\s[\]{},:"]+/g

/** Indented, without reading numbers. */
export function prettyJson(text: string): string {
  let indent = 0
  let out = ''
  let previous = ''
  const line = (): string => `\n${'  '.repeat(indent)}`
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === '}' || token === ']') {
      indent -= 1
      out += previous === '{' || previous === '[' ? token : line() + token
    } else {
      if (previous === '{' || previous === '[') out += line()
      out += token === ':' ? ': ' : token === ',' ? `,${line()}` : token
      if (token === '{' || token === '[') indent += 1
    }
    previous = token
  }
  return out
}

/** `text`: JSON as received. `name`: of the file to download. */
export function JsonText({
  text,
  name,
  label,
}: {
  readonly text: string
  readonly name?: string
  readonly label?: string
}) {
  const all = useSignal(false)
  const cut = !all.value && text.length > FIRST_CHARACTERS
  return (
    <div class="json">
      <div class="row end">
        <CopyButton text={text} label="copy" />
        {name !== undefined && <DownloadButton text={text} name={name} />}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard */}
      <pre tabIndex={0} aria-label={label ?? 'JSON'} role="region">
        {prettyJson(cut ? text.slice(0, FIRST_CHARACTERS) : text)}
      </pre>
      {cut && (
        <p>
          The first 64 kB of {Math.ceil(text.length / 1024)} kB.{' '}
          <button
            type="button"
            class="small"
            onClick={() => {
              all.value = true
            }}
          >
            Show all
          </button>
        </p>
      )}
    </div>
  )
}

export function JsonValue({
  value,
  name,
  label,
}: {
  readonly value: unknown
  readonly name?: string
  readonly label?: string
}) {
  const text = JSON.stringify(value) ?? 'null'
  return <JsonText text={text} {...(name === undefined ? {} : { name })} {...(label === undefined ? {} : { label })} />
}

export function DownloadButton({
  text,
  name,
  type = 'application/json',
}: {
  readonly text: string
  readonly name: string
  readonly type?: string
}) {
  return (
    <button type="button" class="small plain" onClick={() => saveAs(text, name, type)}>
      ⤓ download
    </button>
  )
}

export function saveAs(text: string, name: string, type = 'application/json'): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
