/** Tabs, kept in the address as `?tab=`. The arrow keys move between them. */
import type { ComponentChildren } from 'preact'
import { param, setQuery } from '../browser/router.ts'

export interface Tab {
  readonly id: string
  readonly title: string
  readonly content: () => ComponentChildren
}

export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }) {
  const current = tabs.find(({ id }) => id === param('tab')) ?? (tabs[0] as Tab)
  const move = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
    if (step === 0) return
    event.preventDefault()
    const next = tabs[(tabs.indexOf(current) + step + tabs.length) % tabs.length] as Tab
    setQuery({ tab: next.id === tabs[0]?.id ? null : next.id })
    document.getElementById(`tab-${next.id}`)?.focus()
  }
  return (
    <>
      <div role="tablist" aria-label={label} class="tabs" onKeyDown={move}>
        {tabs.map(({ id, title }) => (
          <button
            type="button"
            key={id}
            role="tab"
            id={`tab-${id}`}
            aria-selected={id === current.id}
            aria-controls="tab-panel"
            tabIndex={id === current.id ? 0 : -1}
            onClick={() => setQuery({ tab: id === tabs[0]?.id ? null : id })}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${current.id}`}>
        {current.content()}
      </div>
    </>
  )
}
