/** The state of an instance, a run, a gate or a node: a colour and a shape, never the colour alone. */

interface Look {
  readonly shape: string
  /** A class of styles/states.css, and a colour of the pictures. */
  readonly tone: Tone
}

export type Tone = 'good' | 'bad' | 'active' | 'waiting' | 'back' | 'quiet'

const LOOKS: Readonly<Record<string, Look>> = {
  completed: { shape: '✓', tone: 'good' },
  succeeded: { shape: '✓', tone: 'good' },
  approved: { shape: '✓', tone: 'good' },
  active: { shape: '✓', tone: 'good' },
  failed: { shape: '✕', tone: 'bad' },
  rejected: { shape: '✕', tone: 'bad' },
  running: { shape: '▶', tone: 'active' },
  leased: { shape: '▶', tone: 'active' },
  waiting: { shape: '◷', tone: 'waiting' },
  open: { shape: '◷', tone: 'waiting' },
  queued: { shape: '…', tone: 'quiet' },
  pending: { shape: '…', tone: 'quiet' },
  idle: { shape: '○', tone: 'quiet' },
  skipped: { shape: '⤼', tone: 'quiet' },
  paused: { shape: 'Ⅱ', tone: 'waiting' },
  cancelling: { shape: '⊘', tone: 'back' },
  cancelled: { shape: '⊘', tone: 'back' },
  compensating: { shape: '↶', tone: 'back' },
  compensated: { shape: '↶', tone: 'back' },
}

export function lookOf(state: string): Look {
  return LOOKS[state] ?? { shape: '•', tone: 'quiet' }
}

export function State({ state, label }: { readonly state: string; readonly label?: string }) {
  const { shape, tone } = lookOf(state)
  return (
    <span class={`state ${tone}`}>
      <span aria-hidden="true">{shape}</span> {label ?? state}
    </span>
  )
}
