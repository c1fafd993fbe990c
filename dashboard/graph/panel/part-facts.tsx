/** What the net says of a node. */
import type { Part } from '../model/drawing.ts'

const KINDS = {
  run: 'work of a worker',
  gate: 'decision by people',
  child: 'nested workflow',
  list: 'list',
  pass: 'routes only',
  join: 'joins branches',
  undo: 'undo',
} as const

export function PartFacts({ part }: { readonly part: Part }) {
  const { shape, detail, tags, change } = part
  return (
    <dl class="facts">
      <dt>kind</dt>
      <dd>{KINDS[shape]}</dd>
      {detail !== '' && (
        <>
          <dt>{shape === 'gate' ? 'title' : 'does'}</dt>
          <dd>
            <bdi>{detail}</bdi>
          </dd>
        </>
      )}
      {change !== null && (
        <>
          <dt>since the earlier version</dt>
          <dd>{change}</dd>
        </>
      )}
      {tags.map((tag) => (
        <>
          <dt>rule</dt>
          <dd>
            <bdi>{tag}</bdi>
          </dd>
        </>
      ))}
    </dl>
  )
}
