/** The page behind a signed link: the decision to make, by whom, until when, the votes so far, and the form. */

import { escapeHtml } from '../../http/html.ts'
import type { GateView } from '../../model/gates.ts'
import type { Json } from '../../net/net.ts'
import type { Invitation } from '../../operations/gates/link.ts'
import { json } from '../../wire/value.ts'
import { type Field, inputName, shapeOf } from './form.ts'

export interface Shown {
  readonly view: GateView
  readonly invitation: Invitation
  readonly now: number
  /** Why the submitted answer was refused. */
  readonly problem: string | null
  /** The entered values; null: none yet. */
  readonly sent: URLSearchParams | null
}

const STYLE = `
:root { color-scheme: light dark; --line: #8884; --dim: #6b7280; --card: #fff; --ground: #f4f5f7; --text: #16181d;
  --yes: #15803d; --no: #b91c1c; --warn: #b45309; --focus: #2563eb; }
@media (prefers-color-scheme: dark) { :root { --dim: #9aa1ad; --card: #1c1f26; --ground: #111318; --text: #e7e9ee;
  --yes: #16a34a; --no: #ef4444; --warn: #f59e0b; --focus: #60a5fa; } }
* { box-sizing: border-box; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif; margin: 0; padding: 2rem 1rem 3rem;
  background: var(--ground); color: var(--text); }
main { max-width: 40rem; margin: 0 auto; background: var(--card); border: 1px solid var(--line); border-radius: .75rem;
  padding: 1.75rem 2rem 2rem; }
h1 { font-size: 1.45rem; line-height: 1.25; margin: .1rem 0 .35rem; overflow-wrap: anywhere; }
h2 { font-size: .8rem; font-weight: 600; color: var(--dim); margin: 1.75rem 0 .5rem; }
p { margin: .35rem 0; overflow-wrap: anywhere; }
.dim, small { color: var(--dim); } small { font-size: .85rem; display: block; }
.lead { white-space: pre-line; }
dl { display: grid; grid-template-columns: minmax(6.5rem, max-content) 1fr; gap: .3rem 1.25rem; margin: 0; }
dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
pre { background: #8881; border-radius: .4rem; padding: .75rem; margin: 0; overflow: auto; max-height: 20rem;
  font: .85rem/1.45 ui-monospace, monospace; }
ul { list-style: none; margin: 0; padding: 0; } li { padding: .4rem 0; border-bottom: 1px solid var(--line); }
li:last-child { border: 0; }
.box { border-left: .25rem solid var(--dim); background: #8881; border-radius: .4rem; padding: .7rem 1rem; margin: 1.25rem 0 0; }
.box.yes { border-color: var(--yes); } .box.no { border-color: var(--no); } .box.warn { border-color: var(--warn); }
.yes-word { color: var(--yes); font-weight: 600; } .no-word { color: var(--no); font-weight: 600; }
form { margin-top: 1.75rem; border-top: 1px solid var(--line); padding-top: .1rem; }
label { display: block; margin: 1rem 0 .3rem; font-weight: 500; } label .dim { font-weight: 400; }
label.flag { display: flex; gap: .6rem; align-items: baseline; margin-top: 1.1rem; }
input:not([type=checkbox]), select, textarea { width: 100%; font: inherit; color: inherit; background: transparent;
  border: 1px solid #8888; border-radius: .4rem; padding: .5rem .65rem; }
select option { color: #16181d; background: #fff; }
textarea { min-height: 4.5rem; resize: vertical; } textarea.json { font: .9rem/1.45 ui-monospace, monospace; min-height: 8rem; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 1px; }
.buttons { display: flex; gap: .75rem; margin-top: 1.5rem; flex-wrap: wrap; }
button { font: inherit; font-weight: 600; border-radius: .4rem; padding: .6rem 1.6rem; cursor: pointer; border: 1px solid; }
button.yes { background: #15803d; border-color: #15803d; color: #fff; } button.no { background: transparent; color: var(--no); }
footer { max-width: 40rem; margin: 1rem auto 0; color: var(--dim); font-size: .8rem; overflow-wrap: anywhere; }
@media (max-width: 32rem) { body { padding: 0; } main { border: 0; border-radius: 0; padding: 1.25rem 1rem 2rem; }
  footer { padding: 0 1rem; } button { flex: 1; } dl { column-gap: .75rem; } }`

export function decidePage(shown: Shown): string {
  const { view, invitation, problem } = shown
  const { gate, instance, standing } = view
  const title = standing.options.title ?? `${instance.name}: ${gate.node}`
  const { description } = standing.options
  const parts = [
    `<p class="dim">${escapeHtml(instance.name)} · ${escapeHtml(gate.node)}</p>`,
    `<h1>${escapeHtml(title)}</h1>`,
    description === undefined ? '' : `<p class="lead">${escapeHtml(description)}</p>`,
    problem === null ? '' : box('no', `<strong>Not counted.</strong> ${escapeHtml(problem)}`),
    outcome(shown),
    argsPart(json(gate.args) as Json),
    aboutPart(shown),
    votesPart(view),
    mayVote(shown) ? formPart(shown) : '',
  ]
  const foot = `gate ${escapeHtml(gate.id)} · this link is for ${escapeHtml(invitation.subject)} alone and ends ${moment(invitation.expiresAt)}`
  return frame(title, parts.filter((part) => part !== '').join('\n'), foot)
}

export function refusalPage(message: string, status: number): string {
  const title = status >= 500 ? 'This does not work at the moment' : 'This link does not work'
  return frame(title, `<h1>${title}</h1>\n${box('no', escapeHtml(sentence(message)))}`, '')
}

function frame(title: string, body: string, foot: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
${body}
</main>
<footer>${foot}</footer>
</body>
</html>
`
}

function ownVote({ view, invitation }: Shown) {
  return view.standing.votes.find(({ by, link }) => link === invitation.id || by === invitation.subject)
}

function mayVote(shown: Shown): boolean {
  const { gate } = shown.view
  const inTime = gate.dueAt === null || gate.dueAt > shown.now
  return gate.state === 'open' && inTime && ownVote(shown) === undefined
}

/** The outcome, if there is nothing left to decide here. */
function outcome(shown: Shown): string {
  const { gate, standing } = shown.view
  const own = ownVote(shown)
  const lines: string[] = []
  if (own !== undefined) lines.push(`You ${word(own.approved)} this on ${moment(own.at)}. A link works once.`)
  if (gate.state === 'approved' || gate.state === 'rejected') {
    const by = gate.answeredBy === null ? 'by the clock' : `by ${escapeHtml(gate.answeredBy)}`
    lines.push(`It was ${word(gate.state === 'approved')} ${by} on ${moment(gate.answeredAt ?? 0)}.`)
  } else if (gate.state === 'closed')
    lines.push('This no longer needs a decision: the workflow has ended or is being rolled back.')
  else if (own !== undefined) {
    const left = standing.quorum - standing.approvals
    lines.push(`It waits for ${left} more ${left === 1 ? 'approval' : 'approvals'}.`)
  } else if (!mayVote(shown)) lines.push(`The time to decide ended on ${moment(gate.dueAt ?? 0)}.`)
  const kind = gate.state === 'approved' ? 'yes' : gate.state === 'rejected' ? 'no' : 'warn'
  return lines.length === 0 ? '' : box(kind, lines.join('<br>'))
}

function aboutPart({ view, invitation }: Shown): string {
  const { gate, standing } = view
  const { quorum, seats, approvals } = standing
  const roles =
    invitation.roles.length === 0 ? '' : ` <span class="dim">(${escapeHtml(invitation.roles.join(', '))})</span>`
  const rows = [['You are', `${escapeHtml(invitation.subject)}${roles}`]]
  if (quorum > 1 || seats > 1) rows.push(['Approvals', `${approvals} of ${quorum} needed`])
  if (gate.state === 'open' && standing.missing !== null && standing.missing.length > 0) {
    rows.push(['Still asked', escapeHtml(standing.missing.join(', '))])
  }
  if (gate.state === 'open' && gate.dueAt !== null) {
    rows.push(['Until', `${moment(gate.dueAt)}; without a decision it is then ${word(gate.onTimeout === 'approve')}`])
  }
  rows.push(['Asked', moment(gate.createdAt)])
  return list(rows, 'Current state')
}

function argsPart(args: Json): string {
  if (args === null) return ''
  if (typeof args !== 'object' || Array.isArray(args)) return `<h2>What it is about</h2>\n<pre>${pretty(args)}</pre>`
  const entries = Object.entries(args)
  if (entries.length === 0) return ''
  const plain = entries.every(([, value]) => value === null || typeof value !== 'object')
  if (!plain) return `<h2>What it is about</h2>\n<pre>${pretty(args)}</pre>`
  return list(
    entries.map(([name, value]) => [escapeHtml(name), value === null ? '–' : escapeHtml(String(value))]),
    'What it is about',
  )
}

function votesPart({ standing }: GateView): string {
  if (standing.votes.length === 0) return ''
  const lines = standing.votes.map(({ by, approved, at, reason }) => {
    const why = reason === null ? '' : `<br><span class="lead">${escapeHtml(reason)}</span>`
    return `<li>${escapeHtml(by ?? 'an unnamed person')} ${word(approved)} <span class="dim">on ${moment(at)}</span>${why}</li>`
  })
  return `<h2>Votes so far</h2>\n<ul>\n${lines.join('\n')}\n</ul>`
}

function formPart({ view, sent }: Shown): string {
  const { form } = view.standing.options
  const shape = shapeOf(form)
  const fields =
    shape.ask === 'fields'
      ? shape.fields.map((field) => fieldPart(field, sent))
      : shape.ask === 'json'
        ? [jsonPart(form as Json, sent)]
        : []
  return `<form method="post" accept-charset="utf-8">
<h2>Your decision</h2>
${fields.join('\n')}
<label for="reason">Reason <span class="dim">optional, kept with your decision</span></label>
<textarea id="reason" name="reason" maxlength="4000">${escapeHtml(sent?.get('reason') ?? '')}</textarea>
<div class="buttons">
<button class="yes" name="decision" value="approve">Approve</button>
<button class="no" name="decision" value="reject" formnovalidate>Reject</button>
</div>
</form>`
}

function fieldPart(field: Field, sent: URLSearchParams | null): string {
  const { kind, required, least, most, choices } = field
  const name = escapeHtml(inputName(field.name))
  const help = field.description === null ? '' : `<small>${escapeHtml(field.description)}</small>`
  const kept = sent === null ? null : sent.get(inputName(field.name))
  if (kind === 'flag') {
    const checked = sent === null ? field.initial === true : kept !== null
    return `<label class="flag"><input type="checkbox" name="${name}"${checked ? ' checked' : ''}> <span>${escapeHtml(field.label)}${help}</span></label>`
  }
  const mark = required ? '' : ' <span class="dim">optional</span>'
  const label = `<label for="${name}">${escapeHtml(field.label)}${mark}</label>`
  const must = required ? ' required' : ''
  if (kind === 'choice') {
    const chosen = kept ?? String(choices.indexOf(field.initial as Json))
    const options = choices.map(
      (choice, i) =>
        `<option value="${i}"${chosen === String(i) ? ' selected' : ''}>${escapeHtml(String(choice))}</option>`,
    )
    return `${label}\n<select id="${name}" name="${name}"${must}><option value="">–</option>${options.join('')}</select>${help}`
  }
  const value = kept ?? (field.initial === undefined ? '' : String(field.initial))
  if (kind === 'text' || kind === 'long') {
    const bounds = `${least === null ? '' : ` minlength="${least}"`}${most === null ? '' : ` maxlength="${most}"`}`
    return kind === 'long'
      ? `${label}\n<textarea id="${name}" name="${name}"${bounds}${must}>${escapeHtml(value)}</textarea>${help}`
      : `${label}\n<input id="${name}" name="${name}" value="${escapeHtml(value)}"${bounds}${must}>${help}`
  }
  const bounds = `${least === null ? '' : ` min="${least}"`}${most === null ? '' : ` max="${most}"`}`
  const step = kind === 'integer' ? '1' : 'any'
  return `${label}\n<input type="number" step="${step}" id="${name}" name="${name}" value="${escapeHtml(value)}"${bounds}${must}>${help}`
}

function jsonPart(form: Json, sent: URLSearchParams | null): string {
  return `<label for="answer">Answer <span class="dim">JSON that fits the schema below</span></label>
<textarea class="json" id="answer" name="answer" spellcheck="false">${escapeHtml(sent?.get('answer') ?? '')}</textarea>
<details><summary class="dim">Schema</summary><pre>${pretty(form)}</pre></details>`
}

function list(rows: readonly (readonly string[])[], title: string): string {
  const lines = rows.map(([name, value]) => `<dt>${name}</dt><dd>${value}</dd>`)
  return `<h2>${title}</h2>\n<dl>\n${lines.join('\n')}\n</dl>`
}

function box(kind: 'yes' | 'no' | 'warn', html: string): string {
  return `<div class="box ${kind}" role="status">${html}</div>`
}

function word(approved: boolean): string {
  return approved ? '<span class="yes-word">approved</span>' : '<span class="no-word">rejected</span>'
}

function pretty(value: Json): string {
  try {
    return escapeHtml(JSON.stringify(value, null, 2))
  } catch {
    return 'This value is nested too deeply to be shown.'
  }
}

/** 3 March 2026, 14:05 UTC: unambiguous in all countries. */
function moment(at: number): string {
  const date = new Date(at)
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })
  return `<time datetime="${date.toISOString()}">${day}, ${date.toISOString().slice(11, 16)} UTC</time>`
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`
}
