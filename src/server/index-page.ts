/** GET /: the latest instances as plain HTML, refreshed every two seconds. No script, no build. */
import { escapeHtml } from '../http/html.ts'
import type { InstanceRow } from '../model/rows.ts'
import { latestInstances } from '../operations/instances/look.ts'
import { text } from '../wire/schema.ts'
import { serverRoute as route } from './context.ts'

const SHOWN = 50

export const INDEX_ROUTES = [
  route(
    'GET /',
    {
      tag: 'Server',
      summary: 'The latest instances as a page',
      does: latestInstances,
      otherQuery: 'ignored',
      answers: { '200': { description: 'A page.', schema: text(), type: 'text/html' } },
    },
    async ({ perform, reply }, { version }) => {
      const { rows, now } = await perform(latestInstances, { limit: SHOWN })
      reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
      return reply.type('text/html; charset=utf-8').send(page(rows, now, version))
    },
  ),
]

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --dim: #888; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2.5rem auto; padding: 0 1.25rem; }
header { display: flex; align-items: baseline; gap: 1rem; flex-wrap: wrap; }
h1 { font-size: 1.35rem; margin: 0; }
header span, footer, .dim { color: var(--dim); }
table { width: 100%; border-collapse: collapse; margin: 1.25rem 0; }
th { text-align: left; font-weight: 500; font-size: .8rem; color: var(--dim); }
th, td { padding: .4rem .75rem .4rem 0; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
code, td a { font: .85rem ui-monospace, monospace; }
a { color: inherit; text-underline-offset: .2em; }
.s { display: inline-block; padding: 0 .55rem; border-radius: 1rem; font-size: .8rem; background: #8882; white-space: nowrap; }
.completed { background: #2a94; } .failed { background: #d334; } .running, .queued { background: #38d4; }
.waiting { background: #85d4; } .cancelled, .cancelling, .compensated, .compensating { background: #c904; }
footer { font-size: .85rem; }`

function page(rows: readonly InstanceRow[], now: number, version: string): string {
  const counts = new Map<string, number>()
  for (const { state } of rows) counts.set(state, (counts.get(state) ?? 0) + 1)
  const tally = `${rows.length === SHOWN ? `latest ${SHOWN}: ` : ''}${[...counts].map(([state, n]) => `${n} ${state}`).join(' · ')}`
  const body =
    rows.length === 0
      ? '<p class="dim">Nothing has run yet. <code>petrel run FILE</code> starts something.</p>'
      : table(rows, now)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="2">
<title>Petrel</title>
<style>${STYLE}</style>
</head>
<body>
<header><h1>Petrel</h1><span>${tally}</span></header>
${body}
<footer>version ${escapeHtml(version)} · <a href="/v1/instances">/v1/instances</a> · <a href="/openapi.json">/openapi.json</a> · <a href="/metrics">/metrics</a> · <a href="/ojs/v1/health">health</a></footer>
</body>
</html>
`
}

function table(rows: readonly InstanceRow[], now: number): string {
  const lines = rows.map((row) => {
    const outcome =
      row.outcome !== null && row.outcome !== 'success' && row.outcome !== row.state
        ? ` <span class="dim">${escapeHtml(row.outcome)}</span>`
        : ''
    const took = ((row.endedAt ?? now) - row.createdAt) / 1000
    return `<tr><td>${escapeHtml(row.name)}</td><td><span class="s ${row.state}">${row.state}</span>${outcome}</td><td class="n">${row.succeeded}</td><td class="n">${row.failed}</td><td class="n">${row.open}</td><td class="n">${took < 10 ? took.toFixed(2) : Math.round(took)} s</td><td class="dim">${new Date(row.createdAt).toISOString().slice(0, 19).replace('T', ' ')}</td><td><a href="/v1/instances/${encodeURIComponent(row.id)}">${escapeHtml(row.id)}</a></td></tr>`
  })
  return `<table>
<thead><tr><th>name</th><th>state</th><th class="n">done</th><th class="n">failed</th><th class="n">open</th><th class="n">took</th><th>created (UTC)</th><th>id</th></tr></thead>
<tbody>
${lines.join('\n')}
</tbody>
</table>`
}
