/** One definition: its versions, text and net, and what can be done with it. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import type { Net } from '../../../src/net/net.ts'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import type { Pause } from '../../api/pauses.ts'
import { session } from '../../api/session.ts'
import { href, param, setQuery } from '../../browser/router.ts'
import { type Action, ActionButton, quoted, usePageActions } from '../../ui/actions.tsx'
import { Moment } from '../../ui/moments.tsx'
import { Problem } from '../../ui/problem.tsx'
import { State } from '../../ui/state.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { PauseDialog, RetireDialog } from './change-dialogs.tsx'
import { Compare, VersionSelect } from './compare.tsx'
import { DeployDialog } from './deploy-dialog.tsx'
import { NetPicture } from './net-picture.tsx'
import { NetTable } from './net-view.tsx'
import { readDefinition, type Version } from './read.ts'
import { Source } from './source.tsx'
import { StartDialog } from './start-dialog.tsx'
import { checkText, problemsOfCheck } from './texts.ts'
import { triggerText } from './trigger.ts'
import { Versions } from './versions.tsx'

type Loaded = Awaited<ReturnType<typeof readDefinition>>
type Asking = 'start' | 'pause' | 'retire' | 'deploy' | null

export default function DefinitionPage({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const name = params['name'] ?? ''
  const { data, error, refresh } = useLive(name, (signal) => readDefinition(name, signal), {
    concerns: ({ areas }) => areas.has('definitions') || areas.has('pauses'),
  })
  const latest = data.value?.versions.find(({ latest: isLatest }) => isLatest) ?? data.value?.versions[0]
  if (data.value === null || latest === undefined) {
    return (
      <>
        <h1>
          <bdi>{name}</bdi>
        </h1>
        {error.value === null ? <p class="dim">Loading …</p> : <Problem error={error.value} />}
      </>
    )
  }
  return <View name={name} latest={latest} loaded={data.value} refresh={() => void refresh()} />
}

interface ViewProps {
  readonly name: string
  readonly latest: Version
  readonly loaded: Loaded
  readonly refresh: () => void
}

function View({ name, latest, loaded, refresh }: ViewProps) {
  const { versions, hasOlder, pause } = loaded
  const asking = useSignal<Asking>(null)
  const version = versions.find((one) => one.version === param('version')) ?? latest
  const ask = (what: Asking) => () => {
    asking.value = what
    return undefined
  }
  const actions = useMemo(() => actionsOf({ name, version, pause, ask, refresh }), [loaded, version, session.value])
  usePageActions(actions, [actions])
  const dialog = { name, onClose: ask(null), onDone: refresh }
  return (
    <>
      <p class="dim">
        <a href={href('/definitions')}>Definitions</a>
      </p>
      <h1>
        <bdi>{name}</bdi> {pause !== null && <State state="paused" />}
        {latest.retired_at !== null && <State state="idle" label="retired" />}
      </h1>
      <Facts latest={latest} pause={pause} />
      <div class="row">
        {actions.map((action) => (
          <ActionButton key={action.id} action={action} />
        ))}
      </div>
      <Tabs
        label={`Parts of ${name}`}
        tabs={[
          {
            id: 'versions',
            title: `Versions (${versions.length}${hasOlder ? '+' : ''})`,
            content: () => <Versions name={name} versions={versions} hasOlder={hasOlder} />,
          },
          {
            id: 'source',
            title: 'Source',
            content: () => <OfVersion name={name} version={version} versions={versions} of="source" />,
          },
          {
            id: 'net',
            title: 'Net',
            content: () => <OfVersion name={name} version={version} versions={versions} of="net" />,
          },
          { id: 'compare', title: 'Compare', content: () => <Compare name={name} versions={versions} /> },
        ]}
      />
      {asking.value === 'start' && (
        <StartDialog name={name} version={version.version} isLatest={version.latest} onClose={ask(null)} />
      )}
      {asking.value === 'pause' && <PauseDialog {...dialog} />}
      {asking.value === 'retire' && (
        <RetireDialog {...dialog} version={versions.length === 1 ? null : version.version} />
      )}
      {asking.value === 'deploy' && <DeployDialog onClose={ask(null)} />}
    </>
  )
}

function actionsOf(props: {
  readonly name: string
  readonly version: Version
  readonly pause: Pause | null
  readonly ask: (what: Asking) => () => undefined
  readonly refresh: () => void
}): readonly Action[] {
  const { name, version, pause, ask, refresh } = props
  const path = `/v1/definitions/${encodeURIComponent(name)}`
  const resume = async (): Promise<string> => {
    await api('POST /v1/definitions/:name/resume', { params: { name } })
    refresh()
    return `${name} continues: what waited begins in the order of the starts.`
  }
  const pausing: Action =
    pause === null
      ? {
          id: 'pause',
          label: 'Pause …',
          hint: 'new instances wait',
          scope: 'admin',
          command: `petrel definitions pause ${quoted(name)}`,
          request: { method: 'POST', path: `${path}/pause` },
          run: ask('pause'),
        }
      : {
          id: 'resume',
          label: 'Resume',
          hint: 'the instances that waited begin',
          scope: 'admin',
          command: `petrel definitions resume ${quoted(name)}`,
          request: { method: 'POST', path: `${path}/resume` },
          run: resume,
        }
  return [
    {
      id: 'start',
      label: 'Start …',
      hint: `an instance of version ${version.version}`,
      scope: 'enqueue',
      key: 's',
      unavailable: version.retired_at === null ? null : `version ${version.version} is retired`,
      command: `petrel start ${quoted(name)}`,
      request: { method: 'POST', path: '/v1/instances', body: { workflow: name } },
      run: ask('start'),
    },
    pausing,
    {
      id: 'deploy',
      label: 'Deploy …',
      hint: 'another version',
      scope: 'admin',
      key: 'n',
      command: 'petrel deploy FILE',
      run: ask('deploy'),
    },
    {
      id: 'retire',
      label: 'Retire …',
      hint: 'nothing starts it any more',
      scope: 'admin',
      danger: true,
      unavailable: version.retired_at === null ? null : 'it is retired already',
      command: `petrel definitions retire ${quoted(name)}`,
      request: { method: 'DELETE', path },
      run: ask('retire'),
    },
  ]
}

function Facts({ latest, pause }: { readonly latest: Version; readonly pause: Pause | null }) {
  const trigger = triggerText(latest.trigger)
  const schedule = (latest.trigger as { readonly schedule?: string | null } | null)?.schedule ?? null
  return (
    <p class="dim">
      {latest.dialect}, version <bdi>{latest.version}</bdi>, deployed <Moment at={latest.created_at} />
      {latest.tags.length > 0 && (
        <>
          {' '}
          · tags <bdi>{latest.tags.join(', ')}</bdi>
        </>
      )}
      {trigger !== null && (
        <>
          {' '}
          · started by <bdi>{trigger}</bdi> {schedule !== null && <a href={href('/schedules')}>schedules</a>}
        </>
      )}
      {pause !== null && (
        <>
          {' '}
          · paused <Moment at={pause.since} />
          {pause.by !== null && (
            <>
              {' '}
              by <bdi>{pause.by}</bdi>
            </>
          )}
          {pause.reason !== null && (
            <>
              : <bdi>{pause.reason}</bdi>
            </>
          )}
        </>
      )}
    </p>
  )
}

function OfVersion(props: {
  readonly name: string
  readonly version: Version
  readonly versions: readonly Version[]
  readonly of: 'source' | 'net'
}) {
  const { name, version, versions, of } = props
  return (
    <>
      <div class="row filters">
        <VersionSelect
          label="Version"
          value={version.version}
          versions={versions}
          onValue={(chosen) => setQuery({ version: chosen })}
        />
      </div>
      {of === 'source' ? (
        <SourceOf key={version.source_hash} name={name} version={version} />
      ) : (
        <NetOf key={version.net} name={name} version={version} />
      )}
    </>
  )
}

interface OneVersion {
  readonly name: string
  readonly version: Version
}

/** With what a check says of the text today: other definitions that it refers to may have changed. */
function SourceOf({ name, version: { version, source_hash: hash } }: OneVersion) {
  const params = { name, version }
  const { data, error } = useLive(
    hash,
    async (signal) => {
      const { definition } = await api('GET /v1/definitions/:name/versions/:version', { params, signal })
      const file = `${name}-${version}.${definition.source.trimStart().startsWith('{') ? 'json' : 'yaml'}`
      return { text: definition.source, file, checked: await checkText(definition.source, file, signal) }
    },
    { concerns: () => false },
  )
  if (error.value !== null) return <Problem error={error.value} />
  if (data.value === null) return <p class="dim">Loading …</p>
  const { text, file, checked } = data.value
  const found = problemsOfCheck(checked)
  return (
    <>
      <p class="dim">
        {found.length === 0
          ? 'A check finds nothing wrong.'
          : `A check finds ${checked.problems.length} mistakes and ${checked.warnings.length} warnings, shown on their lines.`}
      </p>
      <Source text={text} name={file} problems={found} />
    </>
  )
}

function NetOf({ name, version: { version, net: hash } }: OneVersion) {
  const params = { name, version }
  const { data, error } = useLive(
    hash,
    async (signal) => (await api('GET /v1/definitions/:name/versions/:version/net', { params, signal })).net as Net,
    { concerns: () => false },
  )
  if (error.value !== null) return <Problem error={error.value} />
  if (data.value === null) return <p class="dim">Loading …</p>
  return (
    <div class="stack">
      <NetPicture net={data.value} />
      <NetTable net={data.value} />
    </div>
  )
}
