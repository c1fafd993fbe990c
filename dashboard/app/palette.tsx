/** Finds pages, the actions of this page, and instances, runs or definitions by id or name. */
import { useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import { api } from '../api/client.ts'
import { go, href } from '../browser/router.ts'
import { pageActions, perform, whyNot } from '../ui/actions.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { NAVIGATION } from './pages.ts'

interface Entry {
  readonly id: string
  readonly title: string
  readonly detail: string
  readonly run: () => void
}

const MOST = 12
const ID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i

export function Palette({ onClose }: { readonly onClose: () => void }) {
  const text = useSignal('')
  const at = useSignal(0)
  const found = useSignal<readonly Entry[]>([])
  const listId = useId()
  useEffect(() => {
    const wanted = text.value.trim()
    found.value = []
    if (wanted.length < 2) return
    const controller = new AbortController()
    const timer = setTimeout(
      () => void search(wanted, controller.signal).then((entries) => (found.value = entries)),
      150,
    )
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [text.value])
  const entries = [...known(text.value), ...found.value].slice(0, MOST)
  const chosen = Math.min(at.value, entries.length - 1)
  const run = (entry: Entry | undefined): void => {
    if (entry === undefined) return
    onClose()
    entry.run()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') at.value = Math.min(entries.length - 1, chosen + 1)
    else if (event.key === 'ArrowUp') at.value = Math.max(0, chosen - 1)
    else if (event.key === 'Enter') run(entries[chosen])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Find" onClose={onClose}>
      <input
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={entries[chosen] === undefined ? undefined : `${listId}-${chosen}`}
        aria-label="A page, an action, an id or a name"
        placeholder="A page, an action, an id or a name"
        autofocus
        value={text.value}
        onKeyDown={onKeyDown}
        onInput={(event) => {
          text.value = event.currentTarget.value
          at.value = 0
        }}
      />
      <div id={listId} role="listbox" aria-label="Found" class="palette">
        {entries.map((entry, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above handles the keyboard
          <div
            key={entry.id}
            id={`${listId}-${i}`}
            role="option"
            aria-selected={i === chosen}
            tabIndex={-1}
            onClick={() => run(entry)}
          >
            <span class="grow">{entry.title}</span> <span class="dim">{entry.detail}</span>
          </div>
        ))}
      </div>
    </Dialog>
  )
}

function known(text: string): readonly Entry[] {
  const pages = NAVIGATION.flatMap(({ entries }) => entries).map(
    ({ path, title, key }): Entry => ({
      id: `page ${path}`,
      title,
      detail: `page · g ${key}`,
      run: () => go(href(path)),
    }),
  )
  const actions = pageActions.value.map(
    (action): Entry => ({
      id: `action ${action.id}`,
      title: action.label,
      detail: whyNot(action) ?? 'action',
      run: () => void perform(action),
    }),
  )
  const wanted = text.trim().toLowerCase()
  return [...actions, ...pages].filter(({ title }) => title.toLowerCase().includes(wanted))
}

async function search(text: string, signal: AbortSignal): Promise<readonly Entry[]> {
  if (ID.test(text)) {
    return [
      { id: 'instance', title: text, detail: 'instance', run: () => go(href(`/instances/${text}`)) },
      { id: 'run', title: text, detail: 'run', run: () => go(href(`/runs/${text}`)) },
    ]
  }
  const name = /^[\w.-]+$/.test(text) ? text : `"${text.replaceAll('"', '\\"')}"`
  try {
    const { instances } = await api('GET /v1/instances', { query: { q: `name:${name}*`, limit: 8 }, signal })
    return instances.flatMap((row): readonly Entry[] =>
      'name' in row
        ? [
            {
              id: row.id,
              title: row.name,
              detail: `${row.state} · ${row.id}`,
              run: () => go(href(`/instances/${row.id}`)),
            },
          ]
        : [],
    )
  } catch {
    return []
  }
}
