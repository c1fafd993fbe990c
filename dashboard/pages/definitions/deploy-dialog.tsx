/** Deploys a definition from a file, or from text. Mistakes are shown on their lines. */
import { useSignal } from '@preact/signals'
import type { Net } from '../../../src/net/net.ts'
import { go, href } from '../../browser/router.ts'
import { ActionDialog } from '../../ui/actions.tsx'
import { InputError, Problem } from '../../ui/problem.tsx'
import { NetTable } from './net-view.tsx'
import type { LineProblem } from './problems.ts'
import { Source } from './source.tsx'
import { type Checked, checkText, deployText, mistakesOf, problemsOfCheck } from './texts.ts'

const LARGEST = 10 * 1024 * 1024

export function DeployDialog({ initial = '', onClose }: { readonly initial?: string; readonly onClose: () => void }) {
  const text = useSignal(initial)
  const file = useSignal('definition.yaml')
  const tags = useSignal('')
  const problems = useSignal<readonly LineProblem[] | null>(null)
  const forget = (): void => {
    problems.value = null
  }
  const take = async (given: File | undefined): Promise<void> => {
    if (given === undefined || given.size > LARGEST) return
    file.value = given.name
    text.value = await given.text()
    forget()
  }
  const deploy = async (): Promise<string> => {
    problems.value = null
    if (text.value.trim() === '') throw new InputError('Choose a file, or write the text of a definition.')
    try {
      const { definition, what, warnings } = await deployText(text.value, file.value, namesIn(tags.value))
      go(href(`/definitions/${encodeURIComponent(definition.name)}`, { tab: 'source', version: definition.version }))
      const warned = warnings.length === 0 ? '' : `, with ${warnings.length} warnings`
      return `${definition.name} ${definition.version}: ${what}${warned}.`
    } catch (error) {
      problems.value = mistakesOf(error)
      throw error
    }
  }
  return (
    <ActionDialog
      title="Deploy a definition"
      verb="Deploy"
      command={`petrel deploy ${file.value}`}
      onClose={onClose}
      onConfirm={deploy}
    >
      <p class="dim">
        A version that has been started keeps its text; other text needs another version. Its trigger is active at once.
      </p>
      <FileInput onFile={(given) => void take(given)} />
      <label>
        Text
        <textarea
          class="code"
          rows={12}
          spellcheck={false}
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value
            forget()
          }}
        />
      </label>
      <label>
        Tags <span class="dim">optional, separated by commas; its instances have them</span>
        <input
          value={tags.value}
          autocomplete="off"
          onInput={(event) => {
            tags.value = event.currentTarget.value
          }}
        />
      </label>
      <Check key={text.value} text={text.value} file={file.value} refused={problems.value} />
    </ActionDialog>
  )
}

function FileInput({ onFile }: { readonly onFile: (file: File | undefined) => void }) {
  const isOver = useSignal(false)
  return (
    <label
      class={`drop ${isOver.value ? 'over' : ''}`}
      onDragOver={(event) => {
        event.preventDefault()
        isOver.value = true
      }}
      onDragLeave={() => {
        isOver.value = false
      }}
      onDrop={(event) => {
        event.preventDefault()
        isOver.value = false
        onFile(event.dataTransfer?.files[0])
      }}
    >
      A file, chosen or dropped here: YAML or JSON
      <input type="file" accept=".yaml,.yml,.json" onChange={(event) => onFile(event.currentTarget.files?.[0])} />
    </label>
  )
}

/** What a deploy would say of the text. `refused`: what it has said. */
function Check(props: {
  readonly text: string
  readonly file: string
  readonly refused: readonly LineProblem[] | null
}) {
  const { text, file, refused } = props
  const checked = useSignal<Checked | null>(null)
  const failure = useSignal<Error | null>(null)
  const check = async (): Promise<void> => {
    failure.value = null
    try {
      checked.value = await checkText(text, file)
    } catch (error) {
      failure.value = error as Error
    }
  }
  const problems = checked.value === null ? (refused ?? []) : problemsOfCheck(checked.value)
  return (
    <>
      <div class="row">
        <button type="button" disabled={text.trim() === ''} onClick={() => void check()}>
          Check
        </button>
        <span role="status">{checked.value !== null && verdictOf(checked.value)}</span>
      </div>
      {failure.value !== null && <Problem error={failure.value} />}
      {problems.length > 0 && <Source text={text} name={file} problems={problems} />}
      {checked.value?.net != null && <NetTable net={checked.value.net.net as Net} />}
    </>
  )
}

function verdictOf({ ok, problems, warnings, definition }: Checked): string {
  if (!ok) return `${problems.length} ${problems.length === 1 ? 'mistake' : 'mistakes'}`
  const warned = warnings.length === 0 ? '' : `, ${warnings.length} ${warnings.length === 1 ? 'warning' : 'warnings'}`
  if (definition?.name == null) return `valid, but it has no name, so it cannot be deployed${warned}`
  return `valid: ${definition.name} ${definition.version ?? '(next version)'}, ${definition.dialect}${warned}`
}

function namesIn(text: string): readonly string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
