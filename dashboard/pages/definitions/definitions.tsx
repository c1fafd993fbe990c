/** Deployed definitions, the latest version of each. */
import { type Signal, useSignal } from '@preact/signals'
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { useGrowing } from '../../api/growing.ts'
import { useLive } from '../../api/live.ts'
import { type Pause, pausesOf } from '../../api/pauses.ts'
import { href, param, setQuery } from '../../browser/router.ts'
import { type Action, ActionButton, usePageActions } from '../../ui/actions.tsx'
import { Empty } from '../../ui/empty.tsx'
import { Term } from '../../ui/explain.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { type Column, Rows } from '../../ui/rows.tsx'
import { State } from '../../ui/state.tsx'
import { DeployDialog } from './deploy-dialog.tsx'
import { triggerText } from './trigger.ts'

type Definition = Answer<'GET /v1/definitions'>['definitions'][number]
interface Row extends Definition {
  readonly pause: Pause | null
}

const FIRST = 'petrel deploy order.yaml'

export default function Definitions() {
  const held = useSignal(false)
  const isDeploying = useSignal(false)
  const { live, pauses, more } = useDefinitions(held)
  const wanted = param('name').toLowerCase()
  const rows = (live.data.value?.rows ?? [])
    .filter(({ name, tags }) => wanted === '' || [name, ...tags].some((text) => text.toLowerCase().includes(wanted)))
    .map((row): Row => ({ ...row, pause: pauses.value?.get(row.name) ?? null }))
  const deploy: Action = {
    id: 'deploy',
    label: 'Deploy …',
    hint: 'a definition from a file',
    scope: 'admin',
    key: 'n',
    command: 'petrel deploy FILE',
    run: () => {
      isDeploying.value = true
      return undefined
    },
  }
  usePageActions([deploy], [])
  return (
    <>
      <h1>Definitions</h1>
      <div class="row filters">
        <input
          type="search"
          class="narrow"
          data-search
          aria-label="Name or tag"
          placeholder="Name or tag"
          value={param('name')}
          onInput={(event) => setQuery({ name: event.currentTarget.value })}
        />
        <span class="dim grow hint">
          The latest version of each <Term name="definition" />
        </span>
        <ActionButton action={deploy} />
      </div>
      {live.error.value !== null && <Problem error={live.error.value} />}
      {live.data.value === null && live.error.value === null && <p class="dim">Loading …</p>}
      {live.data.value !== null && (
        <Rows
          label="Definitions"
          rows={rows}
          columns={COLUMNS}
          keyOf={({ id }) => id}
          hrefOf={({ name }) => href(`/definitions/${encodeURIComponent(name)}`)}
          held={held}
          onEnd={more}
          empty={
            wanted === '' ? (
              <Empty what="Nothing has been deployed yet." command={FIRST} />
            ) : (
              <p>No definition has this in its name or tags.</p>
            )
          }
        />
      )}
      {isDeploying.value && (
        <DeployDialog
          onClose={() => {
            isDeploying.value = false
          }}
        />
      )}
    </>
  )
}

function useDefinitions(held: Signal<boolean>) {
  const concerns = ({ areas }: { readonly areas: ReadonlySet<string> }): boolean =>
    areas.has('definitions') || areas.has('pauses')
  const { live, more } = useGrowing<Definition, string>(
    'definitions',
    async (before, signal) => {
      const query = { limit: 100, ...(before === null ? {} : { before }) }
      const { definitions, next_before: next } = await api('GET /v1/definitions', { query, signal })
      return { rows: definitions, next }
    },
    { hold: held, concerns },
  )
  const pauses = useLive('pauses', (signal) => pausesOf('definition', signal), { concerns })
  return { live, pauses: pauses.data, more }
}

const COLUMNS: readonly Column<Row>[] = [
  { key: 'name', title: 'Name', width: 'minmax(6rem, 2fr)', cell: ({ name }) => <bdi title={name}>{name}</bdi> },
  {
    key: 'state',
    title: 'State',
    width: '6.5rem',
    cell: ({ pause }) => <State state={pause === null ? 'active' : 'paused'} />,
  },
  { key: 'dialect', title: 'Notation', width: '5.5rem', optional: true, cell: ({ dialect }) => dialect },
  {
    key: 'version',
    title: 'Version',
    width: 'minmax(4rem, 6rem)',
    cell: ({ version }) => <bdi title={version}>{version}</bdi>,
  },
  {
    key: 'tags',
    title: 'Tags',
    width: 'minmax(5rem, 1fr)',
    optional: true,
    cell: ({ tags }) => <bdi title={tags.join(', ')}>{tags.join(', ')}</bdi>,
  },
  {
    key: 'trigger',
    title: 'Started by',
    width: 'minmax(7rem, 2fr)',
    optional: true,
    cell: ({ trigger }) => {
      const text = triggerText(trigger)
      return text === null ? <span class="dim">request only</span> : <bdi title={text}>{text}</bdi>
    },
  },
  {
    key: 'created',
    title: 'Deployed',
    width: '7rem',
    optional: true,
    cell: ({ created_at: at }) => <Moment at={at} />,
  },
]
