/** Reasons for waiting, as sentences, each with the command that helps. */
import { href } from '../../../browser/router.ts'
import { CopyButton } from '../../../ui/copy.tsx'
import { sentenceOf } from '../../../ui/sentence.ts'
import { State } from '../../../ui/state.tsx'
import type { Reason, Wait } from '../model.ts'
import { commandFor, nestedIn } from './helps.ts'

/** `id`: of the instance. */
export function Reasons({ reasons, id }: { readonly reasons: readonly Reason[]; readonly id: string }) {
  return (
    <ul class="reasons">
      {reasons.map((reason, i) => (
        <li key={i}>
          <ReasonLine reason={reason} id={id} />
        </li>
      ))}
    </ul>
  )
}

function ReasonLine({ reason, id }: { readonly reason: Reason; readonly id: string }) {
  const command = commandFor(reason, id)
  const nested = nestedIn(reason)
  const gate = (reason as { readonly gate?: unknown }).gate
  return (
    <>
      <bdi class="long-message">{sentenceOf(reason.text)}</bdi>
      {typeof gate === 'string' && (
        <>
          {' '}
          <a href={href(`/gates/${encodeURIComponent(gate)}`)}>decide</a>
        </>
      )}
      {nested !== null && (
        <>
          {' '}
          <a href={href(`/instances/${encodeURIComponent(nested.id)}`)}>open</a>
          {nested.waits.length > 0 && <Waits waits={nested.waits} id={nested.id} />}
        </>
      )}
      {command !== null && (
        <div class="row">
          <code>{command}</code> <CopyButton text={command} label="copy" />
        </div>
      )}
    </>
  )
}

export function Waits({ waits, id }: { readonly waits: readonly Wait[]; readonly id: string }) {
  return (
    <ul class="reasons">
      {waits.map((wait) => (
        <li key={`${wait.node} ${wait.item} ${wait.role} ${wait.run}`}>
          <bdi class="long-name">{wait.node}</bdi>
          {wait.item !== null && ` [${wait.item}]`} <State state={wait.state} />
          <Reasons reasons={wait.reasons} id={id} />
        </li>
      ))}
    </ul>
  )
}
