/** GET /docs/errors: the meaning of every error code, from the table that the server uses. */
import { ERRORS } from '../kernel/errors.ts'
import { text } from '../wire/schema.ts'
import { type Context, routeOf } from './describe/route.ts'

const route = routeOf<Context>()

export const ERROR_PAGE_ROUTES = [
  route(
    'GET /docs/errors',
    {
      tag: 'Server',
      summary: 'Every error code with what to do about it',
      does: 'none',
      otherQuery: 'ignored',
      answers: { '200': { description: 'A page.', schema: text(), type: 'text/html' } },
    },
    async ({ reply }) => {
      reply.header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'")
      return reply.type('text/html; charset=utf-8').send(PAGE)
    },
  ),
]

const PAGE = errorPage()

function errorPage(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, retryable, hint }]) =>
      `<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${retryable ? 'yes' : 'no'}</td><td>${hint.replace(/&/g, '&amp;').replace(/</g, '&lt;')}</td></tr>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Petrel: errors</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2.5rem auto; padding: 0 1.25rem; }
table { border-collapse: collapse; } th { text-align: left; font-weight: 500; }
th, td { padding: .4rem 1rem .4rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
tr:target { background: #fc03; }
</style>
</head>
<body>
<h1>Errors</h1>
<p>Every error is <code>{"error": {code, message, retryable, details, hint, docs_url, request_id}}</code>. Nothing has
changed when one is answered. Paths under /ojs use the words of the Open Job Spec.</p>
<table>
<thead><tr><th>code</th><th>status</th><th>try again?</th><th>what to do</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
</body>
</html>
`
}
