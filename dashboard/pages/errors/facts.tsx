/** What is known of a group: how often, when, which work, where. */
import { href } from '../../browser/router.ts'
import { CopyButton } from '../../ui/copy.tsx'
import { Moment } from '../../ui/moments.tsx'
import { filter } from '../../ui/search/query.ts'
import { type ErrorGroup, instancesOf, isOfRuns, runsOf } from './parts.tsx'

export function Facts({ group }: { readonly group: ErrorGroup }) {
  const { type, code, node, count, first_seen: first, last_seen: last, definitions, workers, fingerprint } = group
  const list = isOfRuns(group)
    ? { path: '/runs', q: runsOf(group), words: 'runs that are failed' }
    : { path: '/instances', q: instancesOf(group), words: 'instances in which it failed' }
  return (
    <section class="card">
      <h2>What failed</h2>
      <dl class="facts">
        <dt>Failures</dt>
        <dd>
          <strong>{count.toLocaleString('en')}</strong> · <a href={href(list.path, { q: list.q })}>{list.words}</a>
        </dd>
        <dt>Seen</dt>
        <dd>
          first <Moment at={first} />, last <Moment at={last} />
        </dd>
        <dt>Type</dt>
        <dd>
          <a href={href('/runs', { q: filter('type', type) })}>
            <bdi>{type}</bdi>
          </a>
        </dd>
        <dt>Code</dt>
        <dd>{code === '' ? <span class="dim">–</span> : <CodeLink code={code} group={group} />}</dd>
        <dt>Step</dt>
        <dd>{node === null ? <span class="dim">none: a bare run</span> : <bdi>{node}</bdi>}</dd>
        <dt>Workflows</dt>
        <dd>
          <Names
            names={definitions}
            address={(name) => href('/instances', { q: `${filter('name', name)} ${instancesOf(group)}` })}
          />
        </dd>
        <dt>Workers</dt>
        <dd>
          <Names names={workers} address={(name) => href('/runs', { q: filter('worker', name) })} />
        </dd>
        <BuildsAndTenant group={group} />
        <dt>Fingerprint</dt>
        <dd>
          <code>{fingerprint}</code> <CopyButton text={fingerprint} label="copy" />
        </dd>
      </dl>
    </section>
  )
}

function CodeLink({ code, group }: { readonly code: string; readonly group: ErrorGroup }) {
  return (
    <a href={href(isOfRuns(group) ? '/runs' : '/instances', { q: filter('error', code) })}>
      <bdi>{code}</bdi>
    </a>
  )
}

function Names({ names, address }: { readonly names: readonly string[]; readonly address: (name: string) => string }) {
  if (names.length === 0) return <span class="dim">–</span>
  return (
    <>
      {names.map((name, i) => (
        <span key={name}>
          {i > 0 && ', '}
          <a href={address(name)}>
            <bdi>{name}</bdi>
          </a>
        </span>
      ))}
    </>
  )
}

function BuildsAndTenant({ group }: { readonly group: ErrorGroup }) {
  const { builds } = group
  const { tenant } = group
  return (
    <>
      {builds.length > 0 && (
        <>
          <dt>Builds</dt>
          <dd>
            <bdi>{builds.join(', ')}</bdi>
          </dd>
        </>
      )}
      {tenant !== null && (
        <>
          <dt>Tenant</dt>
          <dd>
            <bdi>{tenant}</bdi>
          </dd>
        </>
      )}
    </>
  )
}
