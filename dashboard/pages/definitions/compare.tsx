/** Two versions: their nets and their texts. */
import type { Net } from '../../../src/net/net.ts'
import type { Answer } from '../../api/answer.ts'
import { api } from '../../api/client.ts'
import { useLive } from '../../api/live.ts'
import { param, setQuery } from '../../browser/router.ts'
import { Problem } from '../../ui/problem.tsx'
import { linesOf } from './highlight.ts'
import { type DiffLine, diffLines, withContext } from './line-diff.ts'
import { netDiff } from './net-model.ts'
import { NetPicture } from './net-picture.tsx'
import { NetTable } from './net-view.tsx'

type Version = Answer<'GET /v1/definitions'>['definitions'][number]

async function readVersion(name: string, version: string, signal: AbortSignal) {
  const params = { name, version }
  const [{ definition }, { net }] = await Promise.all([
    api('GET /v1/definitions/:name/versions/:version', { params, signal }),
    api('GET /v1/definitions/:name/versions/:version/net', { params, signal }),
  ])
  return { source: definition.source, net: net as Net }
}

export function Compare({ name, versions }: { readonly name: string; readonly versions: readonly Version[] }) {
  const [latest, previous] = versions
  if (latest === undefined || previous === undefined) {
    return <p class="dim">There is one version; deploy another one to compare them.</p>
  }
  const known = (version: string): string | null => versions.find((one) => one.version === version)?.version ?? null
  const to = known(param('version')) ?? latest.version
  const from = known(param('from')) ?? (to === latest.version ? previous.version : latest.version)
  return (
    <>
      <div class="row filters">
        <VersionSelect label="From" value={from} versions={versions} onValue={(from) => setQuery({ from })} />
        <VersionSelect label="to" value={to} versions={versions} onValue={(version) => setQuery({ version })} />
      </div>
      <Difference key={`${from} ${to}`} name={name} from={from} to={to} />
    </>
  )
}

export function VersionSelect(props: {
  readonly label: string
  readonly value: string
  readonly versions: readonly Version[]
  readonly onValue: (version: string) => void
}) {
  const { label, value, versions, onValue } = props
  return (
    <label class="inline">
      {label}
      <select value={value} onChange={(event) => onValue(event.currentTarget.value)}>
        {versions.map(({ version, latest, retired_at: retired }) => (
          <option key={version} value={version}>
            {version}
            {latest ? ' (latest)' : retired === null ? '' : ' (retired)'}
          </option>
        ))}
      </select>
    </label>
  )
}

function Difference({ name, from, to }: { readonly name: string; readonly from: string; readonly to: string }) {
  const { data, error } = useLive(
    `${name} ${from} ${to}`,
    async (signal) => ({ before: await readVersion(name, from, signal), after: await readVersion(name, to, signal) }),
    { concerns: () => false },
  )
  if (data.value === null) return error.value === null ? <p class="dim">Loading …</p> : <Problem error={error.value} />
  const { before, after } = data.value
  const diff = netDiff(before.net, after.net)
  const isSame = Object.values(diff).every(({ length }: readonly unknown[]) => length === 0)
  return (
    <div class="stack">
      <section>
        <h2>Net</h2>
        {isSame ? (
          <p>Both have the same net.</p>
        ) : (
          <>
            {diff.settings.length > 0 && <p>Settings of the net that differ: {diff.settings.join(', ')}.</p>}
            <NetPicture net={after.net} before={before.net} />
            <NetTable net={after.net} before={before.net} diff={diff} />
          </>
        )}
      </section>
      <section>
        <h2>Text</h2>
        <TextDiff lines={diffLines(linesOf(before.source), linesOf(after.source))} />
      </section>
    </div>
  )
}

const SIGN = { added: '+', removed: '−', same: ' ' } as const

function TextDiff({ lines }: { readonly lines: readonly DiffLine[] }) {
  const shown = withContext(lines)
  if (lines.every(({ kind }) => kind === 'same')) return <p>Both have the same text.</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard
    <div class="source-view diff" tabIndex={0} role="region" aria-label="Difference of the texts">
      <table>
        <caption class="visually-hidden">Lines that differ, with their numbers in both texts</caption>
        <tbody>
          {shown.map((line, i) =>
            line === null ? (
              <tr key={i} class="gap">
                <td colSpan={4}>⋯</td>
              </tr>
            ) : (
              <tr key={i} class={line.kind}>
                <td class="number">{line.before}</td>
                <td class="number">{line.after}</td>
                <td>
                  {SIGN[line.kind]}
                  {line.kind !== 'same' && <span class="visually-hidden"> {line.kind}</span>}
                </td>
                <td>
                  <code>{line.text}</code>
                </td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  )
}
