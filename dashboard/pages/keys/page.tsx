/** Keys and audit. */
import { Tabs } from '../../ui/tabs.tsx'
import { Keys } from './keys.tsx'

export default function KeysPage() {
  return (
    <>
      <h1>Keys and audit</h1>
      <Tabs label="Keys and audit" tabs={[{ id: 'keys', title: 'Keys', content: () => <Keys /> }]} />
    </>
  )
}
