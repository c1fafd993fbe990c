/** Instances, found by a query. */
export default function Instances() {
  return <h1>Instances</h1>
}
