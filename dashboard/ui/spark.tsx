/** A small line of numbers over time. The text beside it has the last one; a screen reader gets `label`. */
export function Spark({
  values,
  label,
  width = 96,
  height = 24,
}: {
  readonly values: readonly number[]
  readonly label: string
  readonly width?: number
  readonly height?: number
}) {
  const most = Math.max(1, ...values)
  const step = values.length > 1 ? width / (values.length - 1) : width
  const points = values.map(
    (value, i) => `${(i * step).toFixed(1)},${(height - 1 - (value / most) * (height - 2)).toFixed(1)}`,
  )
  return (
    <svg class="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      <polyline points={points.join(' ')} fill="none" stroke="currentColor" stroke-width="1.5" />
    </svg>
  )
}
