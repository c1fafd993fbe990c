/** One instance: what it is, why it is not further, what can be done, and every part of it. */
import { liveness } from '../../api/changes.ts'
import { param } from '../../browser/router.ts'
import { Empty } from '../../ui/empty.tsx'
import { Problem } from '../../ui/problem.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { InstanceActions } from './actions/actions.tsx'
import { CompareTab } from './compare/compare-tab.tsx'
import { DataTab } from './data-tab.tsx'
import { EventsTab } from './events/events-tab.tsx'
import { Header } from './header/header.tsx'
import { ENDED, useInstance } from './model.ts'
import { PictureTab } from './pictures.tsx'
import { StepsTab } from './steps/steps-tab.tsx'

export default function InstancePage({ params }: { readonly params: Readonly<Record<string, string>> }) {
  const id = params['id'] ?? ''
  const { data, error, refresh } = useInstance(id)
  const shown = data.value
  if (shown === null) {
    if (error.value === null) return <p class="dim">Loading …</p>
    return (
      <div class="stack">
        <h1>Instance</h1>
        <Problem error={error.value} />
        <Empty what="Retention removes ended instances. Those that there are:" command="petrel ls" />
      </div>
    )
  }
  const { instance } = shown.view
  const isRunning = !ENDED.has(instance.state)
  return (
    <div class="stack">
      <Header shown={shown} live={liveness.value !== 'paused'} />
      <InstanceActions
        instance={instance}
        step={param('in') === '' ? param('step') : ''}
        context={shown.texts.get('context') ?? 'null'}
        onDone={refresh}
      />
      {error.value !== null && <Problem error={error.value} />}
      <Tabs
        label="Parts of the instance"
        tabs={[
          { id: 'graph', title: 'Graph', content: () => <PictureTab key="graph" which="graph" instance={instance} /> },
          {
            id: 'timeline',
            title: 'Timeline',
            content: () => <PictureTab key="timeline" which="timeline" instance={instance} />,
          },
          { id: 'steps', title: 'Steps', content: () => <StepsTab shown={shown} isRunning={isRunning} /> },
          {
            id: 'events',
            title: 'Events',
            content: () => <EventsTab key={`${param('event')} ${param('node')}`} instance={instance} />,
          },
          { id: 'data', title: 'Data', content: () => <DataTab shown={shown} /> },
          { id: 'compare', title: 'Compare', content: () => <CompareTab shown={shown} /> },
        ]}
      />
    </div>
  )
}
