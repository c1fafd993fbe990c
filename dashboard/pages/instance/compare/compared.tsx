/** What differs between two instances: in words and signs, not by colour alone. */
import { useSignal } from '@preact/signals'
import { useMemo } from 'preact/hooks'
import { href, param, setQuery } from '../../../browser/router.ts'
import { prettyJson } from '../../../ui/json/json.tsx'
import { Moment, span, Took } from '../../../ui/moments.tsx'
import { type Column, Rows } from '../../../ui/rows.tsx'
import { State } from '../../../ui/state.tsx'
import type { Instance } from '../model.ts'
import { type ComparedStep, compared, type NodeAt } from './compare.ts'
import { diffLines, folded } from './lines.ts'

export interface Side {
  readonly instance: Instance
  readonly input: string
  readonly nodes: ReadonlyMap<string, NodeAt>
  readonly results: ReadonlyMap<string, string>
}

interface Both {
  readonly here: Side
  readonly there: Side
}

export function Compared({ here, there }: Both) {
  const onlyDifferent = useSignal(true)
  const all = useMemo(
    () => compared(here.nodes, there.nodes, { here: here.results, there: there.results }),
    [here, there],
  )
  const different = all.filter(({ differs }) => differs.length > 0)
  const step = param('step')
  return (
    <>
      <Sides here={here} there={there} />
      <section class="card">
        <h2>Input</h2>
        <Difference here={here.input} there={there.input} />
      </section>
      <div class="row">
        <h2 class="grow">
          {different.length} of {all.length} steps differ
        </h2>
        <label class="inline">
          <input
            type="checkbox"
            checked={onlyDifferent.value}
            onChange={({ currentTarget }) => {
              onlyDifferent.value = currentTarget.checked
            }}
          />
          Only those that differ
        </label>
      </div>
      <Rows
        label="Steps of both instances"
        rows={onlyDifferent.value ? different : all}
        columns={COLUMNS}
        keyOf={({ name }) => name}
        onSelect={({ name }) => setQuery({ step: name })}
        height={`min(${Math.max(2, onlyDifferent.value ? different.length : all.length) * 34 + 2}px, 50vh)`}
        empty={<p>No step differs in its state, its attempts, its result, or clearly in its duration.</p>}
      />
      {step !== '' && (
        <section class="card">
          <h2>
            Result of <bdi class="long-name">{step}</bdi>
          </h2>
          <Difference here={here.results.get(step) ?? 'null'} there={there.results.get(step) ?? 'null'} />
        </section>
      )}
    </>
  )
}

const NODE_WIDTH = 'minmax(5rem, 7.5rem)'
const DASH = <span class="dim">–</span>

const COLUMNS: readonly Column<ComparedStep>[] = [
  {
    key: 'name',
    title: 'Step',
    width: 'minmax(3.5rem, 2fr)',
    cell: ({ name }) => <bdi title={name.slice(0, 2000)}>{name.slice(0, 500)}</bdi>,
  },
  {
    key: 'here',
    title: 'Here',
    width: NODE_WIDTH,
    cell: ({ here }) => (here === null ? 'no such step' : <State state={here.state} />),
  },
  {
    key: 'there',
    title: 'There',
    width: NODE_WIDTH,
    cell: ({ there }) => (there === null ? 'no such step' : <State state={there.state} />),
  },
  {
    key: 'took here',
    title: 'Took here',
    width: '6rem',
    numeric: true,
    optional: true,
    cell: ({ here }) => tookOf(here),
  },
  {
    key: 'took there',
    title: 'Took there',
    width: '6rem',
    numeric: true,
    optional: true,
    cell: ({ there }) => tookOf(there),
  },
  { key: 'result', title: 'Result', width: '6.5rem', optional: true, cell: ({ result }) => result },
  {
    key: 'differs',
    title: 'Differs in',
    width: 'minmax(5rem, 1fr)',
    cell: ({ differs }) =>
      differs.length === 0 ? (
        <span class="dim">= nothing</span>
      ) : (
        <strong>
          <span aria-hidden="true">≠</span> {differs.join(', ')}
        </strong>
      ),
  },
]

function tookOf(node: NodeAt | null) {
  return node === null || node.tookMs === null ? DASH : span(node.tookMs)
}

function Sides({ here, there }: Both) {
  return (
    <div class="scroll-x">
      <table>
        <thead>
          <tr>
            <th scope="col">Instance</th>
            <th scope="col">State</th>
            <th scope="col">Created</th>
            <th scope="col">Took</th>
            <th scope="col">Succeeded</th>
            <th scope="col">Failed</th>
            <th scope="col">Net</th>
          </tr>
        </thead>
        <tbody>
          <SideRow title="here" instance={here.instance} />
          <SideRow title="there" instance={there.instance} isOther />
        </tbody>
      </table>
      <p class={here.instance.net === there.instance.net ? 'dim' : ''}>
        {here.instance.net === there.instance.net
          ? '= Both execute the same net.'
          : '≠ They execute different nets: the definition has changed in between, or they are of different definitions.'}
      </p>
    </div>
  )
}

function SideRow({
  title,
  instance,
  isOther = false,
}: {
  readonly title: string
  readonly instance: Instance
  readonly isOther?: boolean
}) {
  const { id, state, created_at: created, started_at: started, ended_at: ended, succeeded, failed, net } = instance
  return (
    <tr>
      <th scope="row">{title}</th>
      <td>
        {isOther ? <a href={href(`/instances/${id}`)}>{`…${id.slice(-12)}`}</a> : 'this one'} <State state={state} />
      </td>
      <td>
        <Moment at={created} />
      </td>
      <td>
        <Took from={started} to={ended} />
      </td>
      <td class="n">{succeeded}</td>
      <td class="n">{failed}</td>
      <td>
        <code>{net.slice(0, 8)}</code>
      </td>
    </tr>
  )
}

/** Longer texts are compared in their beginnings. */
const MOST_COMPARED = 262_144

function Difference({ here, there }: { readonly here: string; readonly there: string }) {
  const lines = useMemo(() => folded(diffLines(linesOf(here), linesOf(there))), [here, there])
  if (here === there) return <p class="dim">= Both are the same.</p>
  const isCut = Math.max(here.length, there.length) > MOST_COMPARED
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard */}
      <pre class="diff" tabIndex={0} role="region" aria-label="Differences">
        {lines.map((line, i) =>
          typeof line === 'number' ? (
            <div key={i} class="dim">{`  … ${line} equal ${line === 1 ? 'line' : 'lines'}`}</div>
          ) : (
            <div key={i} class={line.kind.replace(' ', '-')}>
              {line.kind === 'only here' ? '− here  ' : line.kind === 'only there' ? '+ there ' : '        '}
              {line.text}
            </div>
          ),
        )}
      </pre>
      {isCut && <p class="dim">The first 256 kB of each are compared.</p>}
    </>
  )
}

function linesOf(text: string): readonly string[] {
  return prettyJson(text.slice(0, MOST_COMPARED)).split('\n')
}
