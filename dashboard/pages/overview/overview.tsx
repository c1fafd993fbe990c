/** What is wrong now, and what is going on. */
export default function Overview() {
  return <h1>Overview</h1>
}
