/**
 * What can be done on a page. Each action is one request to the API, which is also offered as a `curl` and a `petrel`
 * command to copy. An action that is not permitted stays visible, disabled, with the reason.
 */
import { signal, useSignal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import type { Scope } from '../../src/operations/caller.ts'
import { AnswerError } from '../api/client.ts'
import { refusal } from '../api/session.ts'
import { CopyButton } from './copy.tsx'
import { Dialog } from './dialog.tsx'
import { Problem } from './problem.tsx'
import { quoted } from './shell.ts'
import { toast } from './toast.tsx'

export { quoted }

export interface Action {
  readonly id: string
  /** A verb: "Pause", "Retry from here …". With "…" where a dialog follows. */
  readonly label: string
  /** In the palette and as tooltip. */
  readonly hint?: string
  readonly scope: Scope
  /** Why it cannot be done now; null or absent: it can. */
  readonly unavailable?: string | null
  readonly danger?: boolean
  /** The key on this page, in addition to the menu. */
  readonly key?: string
  /** The same as a shell command. */
  readonly command?: string
  /** The same request, for `curl`. */
  readonly request?: { readonly method: string; readonly path: string; readonly body?: unknown }
  /** Performs it, or opens its dialog. What it resolves to is shown; a rejection is shown as an error. */
  readonly run: () => Promise<string | undefined> | undefined
}

/** null: it can be done. */
export function whyNot({ scope, unavailable }: Action): string | null {
  return refusal(scope) ?? unavailable ?? null
}

export const pageActions = signal<readonly Action[]>([])

/** The actions of this page, for the menu, the palette and the keyboard: at once, so that a key acts on what is shown. */
export function usePageActions(actions: readonly Action[], on: readonly unknown[]): void {
  useLayoutEffect(() => {
    pageActions.value = actions
    return () => {
      pageActions.value = []
    }
  }, on as unknown[])
}

export async function perform(action: Action): Promise<void> {
  const refused = whyNot(action)
  if (refused !== null) {
    toast({ kind: 'error', text: `${action.label}: ${refused}` })
    return
  }
  try {
    const text = await action.run()
    if (text !== undefined) toast({ kind: 'done', text })
  } catch (error) {
    toast({ kind: 'error', text: error instanceof AnswerError ? error.message : String(error) })
  }
}

export function ActionButton({ action, small = false }: { readonly action: Action; readonly small?: boolean }) {
  const refused = whyNot(action)
  return (
    <button
      type="button"
      class={`${action.danger === true ? 'danger' : ''} ${small ? 'small' : ''}`}
      aria-disabled={refused !== null}
      title={refused ?? action.hint}
      onClick={() => void perform(action)}
    >
      {action.label}
      {refused !== null && <span class="visually-hidden"> ({refused})</span>}
    </button>
  )
}

export function curlOf({ method, path, body }: NonNullable<Action['request']>): string {
  const data = body === undefined ? '' : ` -H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`
  const verb = method === 'GET' ? '' : ` -X ${method}`
  return `curl -s${verb} -H "Authorization: Bearer $PETREL_KEY" ${quoted(`${window.location.origin}${path}`)}${data}`
}

/** The menu of `.`: every action of the page with its reason, key and commands. */
export function ActionMenu({ onClose }: { readonly onClose: () => void }) {
  const actions = pageActions.value
  return (
    <Dialog title="Actions" onClose={onClose}>
      {actions.length === 0 && <p class="dim">This page has no actions.</p>}
      <ul class="action-menu">
        {actions.map((action) => (
          <li key={action.id}>
            <ActionButton action={closing(action, onClose)} />
            <span class="dim grow">{whyNot(action) ?? action.hint}</span>
            {action.command !== undefined && <CopyButton text={action.command} label="petrel" />}
            {action.request !== undefined && <CopyButton text={curlOf(action.request)} label="curl" />}
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

/** The menu closes before the action opens its dialog. */
function closing(action: Action, onClose: () => void): Action {
  const run = (): Promise<string | undefined> | undefined => {
    onClose()
    return action.run()
  }
  return { ...action, run }
}

/** A dialog that asks what an action needs, performs it and stays open with the error if it is refused. */
export function ActionDialog(props: {
  readonly title: string
  readonly verb: string
  readonly danger?: boolean
  readonly command?: string
  readonly request?: NonNullable<Action['request']>
  readonly children?: preact.ComponentChildren
  readonly onClose: () => void
  /** Resolves to what is shown afterwards. */
  readonly onConfirm: () => Promise<string | undefined>
}) {
  const { title, verb, danger = false, command, request, children, onClose, onConfirm } = props
  return (
    <Dialog title={title} onClose={onClose}>
      <ConfirmForm verb={verb} danger={danger} onClose={onClose} onConfirm={onConfirm}>
        {children}
        <div class="row">
          {command !== undefined && <CopyButton text={command} label="as petrel" />}
          {request !== undefined && <CopyButton text={curlOf(request)} label="as curl" />}
        </div>
      </ConfirmForm>
    </Dialog>
  )
}

function ConfirmForm(props: {
  readonly verb: string
  readonly danger: boolean
  readonly children: preact.ComponentChildren
  readonly onClose: () => void
  readonly onConfirm: () => Promise<string | undefined>
}) {
  const { verb, danger, children, onClose, onConfirm } = props
  const failure = useSignal<Error | null>(null)
  const busy = useSignal(false)
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (busy.value) return
    busy.value = true
    failure.value = null
    try {
      const text = await onConfirm()
      onClose()
      if (text !== undefined) toast({ kind: 'done', text })
    } catch (error) {
      failure.value = error as Error
    } finally {
      busy.value = false
    }
  }
  return (
    <form onSubmit={(event) => void submit(event)}>
      {children}
      {failure.value !== null && <Problem error={failure.value} />}
      <div class="row end">
        <button type="button" onClick={onClose}>
          Close
        </button>
        <button type="submit" class={danger ? 'danger' : 'primary'} disabled={busy.value}>
          {busy.value ? 'Working …' : verb}
        </button>
      </div>
    </form>
  )
}
