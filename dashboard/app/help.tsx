/** The keys that work on this page. */

import { knownKeys } from '../browser/keys.ts'
import { Dialog } from '../ui/dialog.tsx'

export function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {knownKeys().map(({ keys, what }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key.replace('mod+', '⌘/Ctrl ')}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
