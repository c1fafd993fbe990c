/**
 * A list of rows of one height, of which only the visible ones are in the document. The keys j and k move along it,
 * Enter opens. While the pointer is over it, `held` is true, so that new data wait (see api/live.ts).
 */
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { useKeys } from '../app/keys.ts'
import { go } from '../app/router.ts'

export interface Column<Row> {
  readonly key: string
  readonly title: ComponentChildren
  /** As CSS grid has it: `8rem`, `minmax(6rem, 1fr)`. */
  readonly width: string
  readonly numeric?: boolean
  /** Left out where the window is narrow. */
  readonly optional?: boolean
  readonly cell: (row: Row) => ComponentChildren
}

export interface RowsProps<Row> {
  readonly label: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
  /** Where Enter and a click lead. */
  readonly hrefOf?: (row: Row) => string
  readonly onSelect?: (row: Row) => void
  readonly held?: Signal<boolean>
  /** Called when the end comes into view. */
  readonly onEnd?: () => void
  /** Instead of rows, where there are none. */
  readonly empty?: ComponentChildren
  /** The height of the list; absent: as high as its rows, up to most of the window. */
  readonly height?: string
}

export const ROW_HEIGHT = 34
const BEYOND = 8

export function Rows<Row>(props: RowsProps<Row>) {
  const { label, rows, columns, keyOf, hrefOf, onSelect, held, onEnd, empty, height } = props
  const viewport = useRef<HTMLDivElement>(null)
  const scroll = useSignal(0)
  const visible = useSignal(600)
  const selected = useSignal<string | null>(null)
  const narrow = useNarrow()
  const shown = columns.filter(({ optional }) => optional !== true || !narrow.value)
  const template = shown.map(({ width }) => width).join(' ')
  const first = Math.max(0, Math.floor(scroll.value / ROW_HEIGHT) - BEYOND)
  const last = Math.min(rows.length, Math.ceil((scroll.value + visible.value) / ROW_HEIGHT) + BEYOND)

  useLayoutEffect(() => {
    const box = viewport.current
    if (box === null) return
    const observer = new ResizeObserver(() => {
      visible.value = box.clientHeight
    })
    observer.observe(box)
    return () => observer.disconnect()
  }, [])
  useEffect(() => {
    if (last >= rows.length - BEYOND && rows.length > 0) onEnd?.()
  }, [last, rows.length])

  const move = (step: number): void => {
    if (rows.length === 0) return
    const at = rows.findIndex((row) => keyOf(row) === selected.value)
    const next = Math.min(rows.length - 1, Math.max(0, at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step))
    const row = rows[next] as Row
    selected.value = keyOf(row)
    onSelect?.(row)
    const box = viewport.current
    if (box === null) return
    const top = next * ROW_HEIGHT
    if (top < box.scrollTop) box.scrollTop = top
    else if (top + ROW_HEIGHT > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW_HEIGHT - box.clientHeight
  }
  const open = (): void => {
    const row = rows.find((one) => keyOf(one) === selected.value)
    if (row !== undefined && hrefOf !== undefined) go(hrefOf(row))
  }
  useKeys(
    [
      { keys: 'j', what: 'next row', run: () => move(1) },
      { keys: 'k', what: 'previous row', run: () => move(-1) },
      { keys: 'Enter', what: 'open the row', run: open },
    ],
    [rows, hrefOf],
  )
  if (rows.length === 0 && empty !== undefined) return <div class="empty">{empty}</div>
  return (
    <div class="rows" role="table" aria-label={label} aria-rowcount={rows.length + 1}>
      <div class="rows-head" role="row" style={{ gridTemplateColumns: template }}>
        {shown.map(({ key, title, numeric }) => (
          <span key={key} role="columnheader" class={numeric === true ? 'n' : ''}>
            {title}
          </span>
        ))}
      </div>
      <div
        ref={viewport}
        class="rows-view"
        role="rowgroup"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by the keyboard
        tabIndex={0}
        style={{ height: height ?? `min(${rows.length * ROW_HEIGHT + 2}px, 70vh)` }}
        onScroll={(event) => {
          scroll.value = event.currentTarget.scrollTop
        }}
        onMouseEnter={() => held !== undefined && (held.value = true)}
        onMouseLeave={() => held !== undefined && (held.value = false)}
      >
        <div class="rows-space" style={{ height: `${rows.length * ROW_HEIGHT}px` }} role="presentation">
          {rows.slice(first, last).map((row, i) => {
            const key = keyOf(row)
            return (
              // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard opens the selected row by Enter
              <div
                key={key}
                role="row"
                aria-rowindex={first + i + 2}
                class={`rows-row ${key === selected.value ? 'selected' : ''} ${hrefOf === undefined && onSelect === undefined ? '' : 'opens'}`}
                style={{ gridTemplateColumns: template, transform: `translateY(${(first + i) * ROW_HEIGHT}px)` }}
                onClick={(event) => {
                  selected.value = key
                  onSelect?.(row)
                  if (hrefOf === undefined || isControl(event.target) || window.getSelection()?.isCollapsed === false)
                    return
                  go(hrefOf(row))
                }}
              >
                {shown.map(({ key: column, numeric, cell }) => (
                  <span key={column} role="cell" class={numeric === true ? 'n' : ''}>
                    {cell(row)}
                  </span>
                ))}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

function isControl(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('a, button, input, select, label') !== null
}

const narrowQuery = window.matchMedia('(max-width: 720px)')

/** Whether the window is as narrow as a phone. */
export function useNarrow(): Signal<boolean> {
  const narrow = useSignal(narrowQuery.matches)
  useEffect(() => {
    const changed = (): void => {
      narrow.value = narrowQuery.matches
    }
    narrowQuery.addEventListener('change', changed)
    return () => narrowQuery.removeEventListener('change', changed)
  }, [])
  return narrow
}
