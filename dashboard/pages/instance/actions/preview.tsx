/** What a retry or a fork would do. */
import type { api } from '../../../api/client.ts'

type Answer = Awaited<ReturnType<typeof api<'POST /v1/instances/:id/retry'>>>
type Seen = Extract<Answer, { readonly dry_run: boolean }>

export interface Preview {
  readonly again: Seen['runs_again']
  readonly carried: Seen['carried_over']
  /** null: this is all. */
  readonly next: string | null
}

const WHY: Readonly<Record<Seen['runs_again'][number]['why'], string>> = {
  chosen: 'it was named',
  contains_chosen: 'the named step is inside of it',
  follows: 'it follows from the named step',
  beginning: 'from the beginning',
  unfinished: 'it did not succeed',
  in_doubt: 'its outcome is unknown; it may have taken effect',
  undone: 'it was undone',
  asked_again: 'people decide again',
}

export function PreviewTable({ preview, onMore }: { readonly preview: Preview; readonly onMore: () => void }) {
  const { again, carried, next } = preview
  if (again.length + carried.length === 0) return <p>Nothing that has begun would run again.</p>
  return (
    <div class="preview">
      <table>
        <thead>
          <tr>
            <th scope="col">Step</th>
            <th scope="col">Work</th>
            <th scope="col">What</th>
          </tr>
        </thead>
        <tbody>
          {again.map((line) => (
            <tr key={`again ${line.instance_id} ${line.step} ${line.why}`}>
              <td>
                <bdi class="long-name">{line.step}</bdi>
              </td>
              <td>{countOf(line)}</td>
              <td>
                <strong>
                  <span aria-hidden="true">↻</span> runs again
                </strong>
                : {WHY[line.why]}
              </td>
            </tr>
          ))}
          {carried.map((line) => (
            <tr key={`carried ${line.instance_id} ${line.step}`}>
              <td>
                <bdi class="long-name">{line.step}</bdi>
              </td>
              <td>{countOf(line)}</td>
              <td>
                <span aria-hidden="true">⇢</span> carried over
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {next !== null && (
        <button type="button" class="small" onClick={onMore}>
          More steps
        </button>
      )}
    </div>
  )
}

function countOf({ count, at_least: more, kind }: Preview['carried'][number]): string {
  const what = kind === 'child' ? 'nested workflow' : kind
  return `${count}${more ? ' or more' : ''} ${count === 1 ? what : `${what}s`}`
}
