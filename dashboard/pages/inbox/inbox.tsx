/** Runs that were inserted by SQL, over HTTP or by the command line, and the types of work. */
import { usePageActions } from '../../ui/actions.tsx'
import { Term } from '../../ui/explain.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Types } from './registry.tsx'
import { InboxRuns } from './runs.tsx'

export default function Inbox() {
  usePageActions([], [])
  return (
    <>
      <h1>Inbox</h1>
      <p class="dim">
        Each <Term name="run" /> here is work of its own: inserted by plain SQL, over HTTP or at a shell, and taken by
        any worker.
      </p>
      <Tabs
        label="Inbox"
        tabs={[
          { id: 'runs', title: 'Runs', content: () => <InboxRuns /> },
          { id: 'types', title: 'Types', content: () => <Types /> },
        ]}
      />
    </>
  )
}
