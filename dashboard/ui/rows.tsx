/**
 * A list of rows of one height, of which only the visible ones are in the document. The keys j and k move along it,
 * Enter opens. While the pointer is over it, `held` is true, so that new data wait (see api/live.ts).
 */
import { type Signal, useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { useKeys } from '../browser/keys.ts'
import { go } from '../browser/router.ts'

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
  /** Set while the list is scrolled away from its beginning, where new rows would move what is read. */
  readonly away?: Signal<boolean>
  /** Called when the end comes into view. */
  readonly onEnd?: () => void
  /** Which rows are in view, or nearly. */
  readonly onVisible?: (first: number, last: number) => void
  /** Instead of rows, where there are none. */
  readonly empty?: ComponentChildren
  /** The height of the list; absent: as high as its rows, up to most of the window. */
  readonly height?: string
}

export const ROW_HEIGHT = 34
const BEYOND = 8

export function Rows<Row>(props: RowsProps<Row>) {
  const { label, rows, columns, keyOf, hrefOf, onSelect, held, away, onEnd, onVisible, empty, height } = props
  const selected = useSignal<string | null>(null)
  const narrow = useNarrow()
  const { viewport, first, last, scrolled } = useVisible(rows.length)
  const shown = columns.filter(({ optional }) => optional !== true || !narrow.value)
  const template = shown.map(({ width }) => width).join(' ')
  useEffect(() => {
    if (last >= rows.length - BEYOND && rows.length > 0) onEnd?.()
  }, [last, rows.length])
  useEffect(() => onVisible?.(first, last), [first, last])
  useRowKeys(props, selected, viewport)
  if (rows.length === 0 && empty !== undefined) return <div class="empty">{empty}</div>
  const hold = (value: boolean): void => {
    if (held !== undefined) held.value = value
  }
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
          scrolled(event)
          if (away !== undefined) away.value = event.currentTarget.scrollTop > 0
        }}
        onMouseEnter={() => hold(true)}
        onMouseLeave={() => hold(false)}
      >
        <div class="rows-space" style={{ height: `${rows.length * ROW_HEIGHT}px` }} role="presentation">
          {rows.slice(first, last).map((row, i) => (
            <RowLine
              key={keyOf(row)}
              row={row}
              index={first + i}
              columns={shown}
              template={template}
              isSelected={keyOf(row) === selected.value}
              href={hrefOf?.(row) ?? null}
              onSelect={() => {
                selected.value = keyOf(row)
                onSelect?.(row)
              }}
              selects={onSelect !== undefined}
            />
          ))}
        </div>
      </div>
    </div>
  )
}

interface LineProps<Row> {
  readonly row: Row
  readonly index: number
  readonly columns: readonly Column<Row>[]
  readonly template: string
  readonly isSelected: boolean
  readonly href: string | null
  readonly onSelect: () => void
  /** A click does something even where it leads nowhere. */
  readonly selects: boolean
}

function RowLine<Row>({ row, index, columns, template, isSelected, href, onSelect, selects }: LineProps<Row>) {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard opens the selected row by Enter
    <div
      role="row"
      aria-rowindex={index + 2}
      class={`rows-row ${isSelected ? 'selected' : ''} ${href === null && !selects ? '' : 'opens'}`}
      style={{ gridTemplateColumns: template, transform: `translateY(${index * ROW_HEIGHT}px)` }}
      onClick={(event) => {
        onSelect()
        // A click that ends a selection of text does not leave the page.
        if (href === null || isControl(event.target) || window.getSelection()?.isCollapsed === false) return
        go(href)
      }}
    >
      {columns.map(({ key, numeric, cell }) => (
        <span key={key} role="cell" class={numeric === true ? 'n' : ''}>
          {cell(row)}
        </span>
      ))}
    </div>
  )
}

/** Which rows are in view, and some beyond. */
function useVisible(count: number) {
  const viewport = useRef<HTMLDivElement>(null)
  const top = useSignal(0)
  const height = useSignal(600)
  useLayoutEffect(() => {
    const box = viewport.current
    if (box === null) return
    const observer = new ResizeObserver(() => {
      height.value = box.clientHeight
    })
    observer.observe(box)
    return () => observer.disconnect()
  }, [count === 0])
  return {
    viewport,
    first: Math.max(0, Math.floor(top.value / ROW_HEIGHT) - BEYOND),
    last: Math.min(count, Math.ceil((top.value + height.value) / ROW_HEIGHT) + BEYOND),
    scrolled: (event: Event): void => {
      top.value = (event.currentTarget as HTMLElement).scrollTop
    },
  }
}

function useRowKeys<Row>(
  { rows, keyOf, hrefOf, onSelect }: RowsProps<Row>,
  selected: Signal<string | null>,
  viewport: { readonly current: HTMLDivElement | null },
): void {
  const move = (step: number): void => {
    if (rows.length === 0) return
    const at = rows.findIndex((row) => keyOf(row) === selected.value)
    const next = Math.min(rows.length - 1, Math.max(0, at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step))
    const row = rows[next] as Row
    selected.value = keyOf(row)
    onSelect?.(row)
    if (viewport.current !== null) scrollTo(viewport.current, next)
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
}

function scrollTo(box: HTMLElement, index: number): void {
  const top = index * ROW_HEIGHT
  if (top < box.scrollTop) box.scrollTop = top
  else if (top + ROW_HEIGHT > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW_HEIGHT - box.clientHeight
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
