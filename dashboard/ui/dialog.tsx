/** A modal dialog. The browser keeps the focus in it, closes it with Escape and gives the focus back. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

export function Dialog(props: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly wide?: boolean
}) {
  const { title, onClose, children, wide = false } = props
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const before = document.activeElement
    const dialog = ref.current
    dialog?.showModal()
    return () => {
      // Everything else is inert as long as it is open.
      dialog?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      class={wide ? 'wide' : ''}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onMouseDown={(event) => {
        if (event.target === ref.current) onClose()
      }}
    >
      <div class="dialog-body">
        <header class="row">
          <h2 id={id} class="grow">
            {title}
          </h2>
          <button type="button" class="plain" aria-label="Close" onClick={onClose}>
            ✕
          </button>
        </header>
        {children}
      </div>
    </dialog>
  )
}
