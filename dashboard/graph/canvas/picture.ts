/** What a painting is made of. */

import type { Palette } from '../../ui/palette.ts'
import type { Mark } from '../model/marking.ts'
import type { Scene } from '../model/scene.ts'
import type { Trace } from '../model/trace.ts'
import type { Camera } from './camera.ts'
import type { Grid } from './grid.ts'

/** The state of a part, and what its card says besides. */
export interface Face {
  /** As lookOf knows it; '' without an instance. */
  readonly state: string
  readonly mark: Mark | null
  /** Why a token is held here. */
  readonly held: string | null
}

export interface Picture {
  readonly scene: Scene
  readonly grid: Grid
  readonly linkGrid: Grid
  readonly faces: readonly Face[]
  readonly palette: Palette
  readonly camera: Camera
  readonly width: number
  readonly height: number
  readonly selected: number | null
  /** null: nothing is searched. */
  readonly found: ReadonlySet<number> | null
  readonly trace: Trace | null
  readonly hideSucceeded: boolean
  readonly now: number
}

const SUCCEEDED: ReadonlySet<string> = new Set(['completed', 'succeeded', 'skipped'])

export function isHidden({ hideSucceeded, faces }: Pick<Picture, 'hideSucceeded' | 'faces'>, part: number): boolean {
  return hideSucceeded && SUCCEEDED.has(faces[part]?.state ?? '')
}
