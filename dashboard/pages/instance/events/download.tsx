/** The whole history as a file, which the page /history opens without a server. */
import { useSignal } from '@preact/signals'
import { rawText } from '../../../api/client.ts'
import { historyText } from '../../../ui/history/file.ts'
import { saveAs } from '../../../ui/json/json.tsx'
import { elementsOf, memberAt } from '../../../ui/json/json-members.ts'
import { toast } from '../../../ui/toast.tsx'

const PAGE = 1000

export function DownloadHistory({ id }: { readonly id: string }) {
  const read = useSignal<number | null>(null)
  const save = async (): Promise<void> => {
    if (read.value !== null) return
    read.value = 0
    try {
      const place = `/v1/instances/${encodeURIComponent(id)}`
      const view = await rawText(`${place}?limit=1`)
      const events: string[] = []
      for (let after = '0', more = true; more; ) {
        const page = await rawText(`${place}/events?after=${after}&limit=${PAGE}`)
        for (const event of elementsOf(memberAt(page, 'events') ?? '[]')) events.push(event)
        after = memberAt(page, 'next_after') ?? '0'
        more = memberAt(page, 'has_more') === 'true'
        read.value = events.length
      }
      saveAs(historyText(view, events, new Date().toISOString()), `${id}.history.json`)
    } catch (error) {
      toast({ kind: 'error', text: `The history could not be read: ${(error as Error).message}` })
    } finally {
      read.value = null
    }
  }
  return (
    <button type="button" class="small" disabled={read.value !== null} onClick={() => void save()}>
      {read.value === null ? '⤓ Download JSON' : `Reading … ${read.value.toLocaleString()} events`}
    </button>
  )
}
