/** The examples that `petrel dev` keeps: one or more per notation, so that every page of the dashboard shows something. */

export interface Example {
  /** Its name ends with the notation, as that of a file does. */
  readonly file: string
  readonly text: string
}

/** Is paid for, waits for a person, and pays out. Its request is checked against a schema. */
const EXPENSE = `
apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: demo-expense, version: "1.0", tags: [demo] }
spec:
  description: An expense that somebody has to approve
  timeout: 7d
  steps:
    - name: check
      uses: demo.check
      timeout: 1m
      inputSchema:
        type: object
        required: [amount]
        properties:
          amount: { type: number, minimum: 1, description: In euros }
          purpose: { type: string }
    - name: approve
      dependsOn: [check]
      approval:
        title: Pay this expense?
        form:
          type: object
          properties:
            note: { type: string, description: For the person who asked }
            account: { type: string, enum: [travel, office, training] }
        deadline: 2d
    - { name: pay, uses: demo.pay, dependsOn: [approve], timeout: 1m }
`

/** Fails at its third step; the two before it are undone, slowly enough to be seen. */
const ONBOARDING = `
apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: demo-onboarding, version: "1.0", tags: [demo] }
spec:
  description: An account, a workspace and a welcome, or none of them
  timeout: 1h
  failurePolicy: compensate
  steps:
    - { name: account, uses: demo.account, timeout: 1m, onFailure: compensate }
    - { name: workspace, uses: demo.workspace, dependsOn: [account], timeout: 1m, onFailure: compensate }
    - { name: analytics, uses: demo.analytics, dependsOn: [workspace], timeout: 1m, onFailure: compensate }
  compensation:
    - { step: workspace, uses: demo.undo, timeout: 5m }
    - { step: account, uses: demo.undo, timeout: 5m }
`

/** 200 pages, four at a time. */
const PAGES = `
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: demo-pages, tags: [demo] }
workload:
  pages: 200
workflow:
  - step: fetch
    loop:
      in: "{{ range(workload.pages) | list }}"
      iterator: page
      spec: { mode: parallel, max_in_flight: 4 }
    tool: { kind: noop }
    next: { arcs: [{ step: publish, when: "{{ event.name == 'loop.done' }}" }] }
  - step: publish
    spec: { policy: { admit: { rules: [{ when: "{{ ctx.approved }}", then: { allow: true } }] } } }
    tool: { kind: noop }
`

/** Its commands wait until a service answers them: `petrel dev --nats …` publishes them. */
const PARTY = `
apiVersion: petrel.dev/v1
kind: Saga
metadata: { name: demo-party, version: 1 }
spec:
  onFailure: compensate
  deadline: 1d
  steps:
    - name: save_party
      command: { subject: refdata.v1.parties.save, body: { name: '{{ request.party }}' } }
      compensation: { subject: refdata.v1.parties.delete, body: { party_id: '{{ result.party_id }}' } }
    - name: save_account
      command: { subject: iam.v1.accounts.save, body: { email: '{{ request.email }}' } }
`

/** A net written by hand: a list, and a step that runs whatever happens. */
const ARTICLE = `
kind: Net
version: 1
name: demo-article
defaults: { title: Storm petrels, pages: [cover, map, index] }
nodes:
  draft: { run: demo.draft, args: { title: '{{ input.title }}' }, next: render }
  render:
    each: { items: input.pages, run: demo.render, args: { page: '{{ item }}' }, maxInFlight: 2 }
    retry: { maxAttempts: 2, initial: 1s, jitter: 0 }
  report: { run: demo.report }
finals:
  - { node: report, when: always, onFailure: partial }
`

/** Started by the clock, every five minutes. */
const DIGEST = `
apiVersion: ioa.dev/v0.2
kind: Workflow
metadata: { name: demo-digest, version: "1.0", tags: [demo] }
spec:
  trigger: { schedule: '*/5 * * * *', timezone: UTC }
  steps:
    - { name: collect, uses: demo.collect, timeout: 1m }
    - { name: send, uses: demo.send, dependsOn: [collect], timeout: 1m }
`

export const EXAMPLES: readonly Example[] = [
  { file: 'demo-expense.workflow.yaml', text: EXPENSE },
  { file: 'demo-onboarding.workflow.yaml', text: ONBOARDING },
  { file: 'demo-digest.workflow.yaml', text: DIGEST },
  { file: 'demo-pages.playbook.yaml', text: PAGES },
  { file: 'demo-party.saga.yaml', text: PARTY },
  { file: 'demo-article.net.yaml', text: ARTICLE },
]
