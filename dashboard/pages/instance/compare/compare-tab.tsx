/** This instance beside another one of the same definition: by default the last one that succeeded. */
import { useSignal } from '@preact/signals'
import { api, rawText } from '../../../api/client.ts'
import { useLive } from '../../../api/live.ts'
import { param, setQuery } from '../../../browser/router.ts'
import { membersOf } from '../../../ui/json/json-members.ts'
import { Problem } from '../../../ui/problem.tsx'
import { quotedTerm } from '../header/header.tsx'
import { about, type Instance, type Shown, type View } from '../model.ts'
import { type Marking, nodesOf } from './compare.ts'
import { Compared, type Side } from './compared.tsx'

const NODES_AT_ONCE = 2000

export function CompareTab({ shown }: { readonly shown: Shown }) {
  const { instance } = shown.view
  const asked = param('with')
  const { data, error } = useLive(
    `compare ${instance.id} ${asked}`,
    async (signal) => {
      const other = asked === '' ? await lastSuccess(instance, signal) : asked
      if (other === null) return { here: null, there: null }
      return { here: await readSide(instance.id, signal), there: await readSide(other, signal) }
    },
    { concerns: about(instance.id), atMostEveryMs: 10_000 },
  )
  const sides = data.value
  return (
    <div class="stack">
      <OtherField key={asked} asked={asked} />
      {error.value !== null && <Problem error={error.value} />}
      {sides === null && error.value === null && <p class="dim">Loading …</p>}
      {sides !== null && sides.here === null && (
        <p>
          No other instance of <bdi class="long-name">{instance.name}</bdi> has succeeded. Give the id of one above.
        </p>
      )}
      {sides !== null && sides.here !== null && <Compared here={sides.here} there={sides.there} />}
    </div>
  )
}

function OtherField({ asked }: { readonly asked: string }) {
  const id = useSignal(asked)
  return (
    <form
      class="row compare-with"
      onSubmit={(event) => {
        event.preventDefault()
        setQuery({ with: id.value.trim() === '' ? null : id.value.trim() })
      }}
    >
      <label class="inline grow">
        Compare with
        <input
          type="text"
          placeholder="the last success; or the id of an instance"
          value={id.value}
          onInput={({ currentTarget }) => {
            id.value = currentTarget.value
          }}
        />
      </label>
      <button type="submit">Compare</button>
    </form>
  )
}

/** null: no other instance of the definition has succeeded. */
async function lastSuccess({ id, name }: Instance, signal: AbortSignal): Promise<string | null> {
  const q = `name:${quotedTerm(name)} state:completed outcome:success nested:any`
  const { instances } = await api('GET /v1/instances', { query: { q, limit: 2 }, signal })
  return instances.flatMap((row) => ('name' in row && row.id !== id ? [row.id] : []))[0] ?? null
}

async function readSide(id: string, signal: AbortSignal): Promise<Side> {
  const text = await rawText(`/v1/instances/${encodeURIComponent(id)}?limit=1`, signal)
  const members = membersOf(text)
  const pages: Marking[] = []
  for (let from: string | null = null; ; ) {
    const query: { readonly limit: number; readonly from?: string } =
      from === null ? { limit: NODES_AT_ONCE } : { limit: NODES_AT_ONCE, from }
    const page: Marking = await api('GET /v1/instances/:id/marking', { params: { id }, query, signal })
    pages.push(page)
    from = page.next_from
    if (from === null) break
  }
  return {
    instance: (JSON.parse(text) as View).instance,
    input: members.get('input') ?? 'null',
    nodes: nodesOf(pages),
    results: membersOf(members.get('results') ?? '{}'),
  }
}
