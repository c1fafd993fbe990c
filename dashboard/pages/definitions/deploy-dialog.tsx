/** Deploys a definition from a file, or from text. Mistakes are shown on their lines. */
import { useSignal } from '@preact/signals'
import type { Answer } from '../../api/answer.ts'
import { AnswerError, answerOf } from '../../api/client.ts'
import { go, href } from '../../browser/router.ts'
import { ActionDialog } from '../../ui/actions.tsx'
import { InputError } from '../../ui/problem.tsx'
import { type LineProblem, problemsOf, Source } from './source.tsx'

type Deployed = Answer<'POST /v1/definitions'>

const LARGEST = 10 * 1024 * 1024

export function DeployDialog({ initial = '', onClose }: { readonly initial?: string; readonly onClose: () => void }) {
  const text = useSignal(initial)
  const file = useSignal('definition.yaml')
  const tags = useSignal('')
  const problems = useSignal<readonly LineProblem[] | null>(null)
  const take = async (given: File | undefined): Promise<void> => {
    if (given === undefined || given.size > LARGEST) return
    file.value = given.name
    text.value = await given.text()
    problems.value = null
  }
  const deploy = async (): Promise<string> => {
    problems.value = null
    if (text.value.trim() === '') throw new InputError('Choose a file, or write the text of a definition.')
    try {
      const { definition, what, warnings } = await deployText(text.value, file.value, tags.value)
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
            problems.value = null
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
      {problems.value !== null && problems.value.length > 0 && (
        <Source text={text.value} name={file.value} problems={problems.value} />
      )}
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

async function deployText(text: string, file: string, tags: string): Promise<Deployed> {
  const query = new URLSearchParams({ file })
  for (const tag of tags.split(',').map((one) => one.trim())) if (tag !== '') query.append('tag', tag)
  const response = await answerOf(`/v1/definitions?${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/yaml' },
    body: text,
  })
  return (await response.json()) as Deployed
}

/** Of an invalid definition: all mistakes with their lines. */
function mistakesOf(error: unknown): readonly LineProblem[] {
  if (!(error instanceof AnswerError) || error.code !== 'invalid_definition') return []
  return problemsOf((error.details['problems'] ?? []) as Parameters<typeof problemsOf>[0], false)
}
