/**
 * Arbitrary DAG workflows, as authors write them, and a plan for each. Every step is drawn as a row of bytes in which 0
 * is the plainest choice, so that a failing case shrinks towards a chain of plain steps.
 */
import fc from 'fast-check'

export interface StepCase {
  readonly name: string
  readonly kind: 'run' | 'gate' | 'nested'
  readonly dependsOn: readonly string[]
  readonly onFailure: 'abort' | 'skip' | 'compensate' | null
  /** It has a compensation. */
  readonly undo: boolean
  readonly maxRetries: number
  readonly timed: boolean
}

export interface FlowCase {
  readonly steps: readonly StepCase[]
  readonly failurePolicy: 'abort' | 'compensate' | null
}

export interface DagCase extends FlowCase {
  /** The whole workflow has a timeout. */
  readonly timed: boolean
  /** Compensations are listed in a different order than the steps: their position has no meaning. */
  readonly turn: number
  /** If nothing else has failed, a last step fails. */
  readonly breaks: boolean
}

export const STEP_TIMEOUT_MS = 10 * 60_000
export const WORKFLOW_TIMEOUT_MS = 24 * 3_600_000
/** An undo has one attempt more than it fails. */
export const UNDO_RETRIES = 1

const plain = { kind: 'run', onFailure: null, maxRetries: 0, timed: false } as const
/** The workflow of a nested step: it undoes its own steps if one of them fails. */
export const INNER: FlowCase = {
  steps: [
    { ...plain, name: 'x', dependsOn: [], undo: true },
    { ...plain, name: 'y', dependsOn: ['x'], undo: true },
  ],
  failurePolicy: 'compensate',
}

const STEP_BYTES = 8

export const dagCases: fc.Arbitrary<DagCase> = fc
  .tuple(
    fc.uint8Array({ minLength: 4, maxLength: 4 }),
    fc.array(fc.uint8Array({ minLength: STEP_BYTES, maxLength: STEP_BYTES }), {
      minLength: 1,
      maxLength: 9,
      size: 'max',
    }),
  )
  .map(([policy, rows]) => readCase(policy, rows))

function readCase(policy: Uint8Array, rows: readonly Uint8Array[]): DagCase {
  const [ofFailure, ofTimeout, turn, breaks] = policy as unknown as [number, number, number, number]
  return {
    steps: rows.map((row, i) => readStep(i, row)),
    failurePolicy: ofFailure < 130 ? 'compensate' : ofFailure < 220 ? 'abort' : null,
    timed: ofTimeout > 128,
    turn,
    breaks: breaks > 70,
  }
}

function readStep(i: number, bytes: Uint8Array): StepCase {
  const [first, second, kind, onFailure, undo, retries, timed, both] = [...bytes] as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  // Near steps are likelier than far ones: chains and diamonds rather than stars.
  const back = (byte: number): string => `s${i - 1 - Math.floor((byte / 256) ** 2 * i)}`
  const dependsOn = i === 0 || first > 215 ? [] : both > 110 ? [...new Set([back(first), back(second)])] : [back(first)]
  return {
    name: `s${i}`,
    kind: kind < 215 ? 'run' : kind < 236 ? 'gate' : 'nested',
    dependsOn,
    onFailure: onFailure < 110 ? null : onFailure < 170 ? 'skip' : onFailure < 225 ? 'compensate' : 'abort',
    undo: undo < 190,
    maxRetries: retries < 120 ? 0 : retries < 200 ? 1 : 2,
    timed: timed > 90,
  }
}

/** The file its author would have written. Types begin with `prefix`, so that a worker can request this case alone. */
export function textOf(dag: DagCase, prefix: string): string {
  const nested = dag.steps.some((step) => step.kind === 'nested')
  const spec = {
    ...specOf(dag, prefix, dag.turn),
    ...(dag.timed ? { timeout: WORKFLOW_TIMEOUT_MS } : {}),
    ...(nested ? { workflows: { inner: specOf(INNER, prefix, 0) } } : {}),
  }
  return JSON.stringify({ apiVersion: 'ioa.dev/v0.2', kind: 'Workflow', metadata: { name: 'undo' }, spec })
}

function specOf(flow: FlowCase, prefix: string, turn: number): object {
  const entries = flow.steps
    .filter((step) => step.undo)
    .map(({ name }) => ({
      step: name,
      uses: `${prefix}.undo`,
      queue: 'undo',
      retryPolicy: { maxRetries: UNDO_RETRIES, backoff: 'constant', initialDelay: '1s' },
    }))
  const at = turn % Math.max(1, entries.length)
  return {
    steps: flow.steps.map((step) => stepOf(step, prefix)),
    compensation: [...entries.slice(at), ...entries.slice(0, at)],
    ...(flow.failurePolicy === null ? {} : { failurePolicy: flow.failurePolicy }),
  }
}

function stepOf(step: StepCase, prefix: string): object {
  const { name, kind, dependsOn, onFailure } = step
  const shape = { name, dependsOn, ...(onFailure === null ? {} : { onFailure }) }
  if (kind === 'gate') return { ...shape, approval: true }
  if (kind === 'nested') return { ...shape, workflow: 'inner' }
  return {
    ...shape,
    uses: `${prefix}.work`,
    queue: 'work',
    retryPolicy: { maxRetries: step.maxRetries, backoff: 'constant', initialDelay: '1s' },
    ...(step.timed ? { timeout: STEP_TIMEOUT_MS } : {}),
  }
}
