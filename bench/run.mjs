// @ts-check
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { median } from './figures.mjs'
import { workloads } from './workload.mjs'
const { values } = parseArgs({ options: { only: { type: 'string' }, store: { type: 'string' }, quick: { type: 'boolean' }, 'cpu-prof': { type: 'boolean' }, dist: { type: 'string' }, count: {type:'boolean'}, repeat: { type: 'string' } } })
const dist = values.dist ?? fileURLToPath(new URL('../dist', import.meta.url))
for (const w of workloads.filter((w) => !values.only || values.only.split(',').some((o) => w.name.startsWith(o)))) {
  const all = []
  for (let i = 0; i < Number(values.repeat ?? 3); i++) {
    const f = await new Promise((resolve, reject) => {
      const child = fork(fileURLToPath(new URL('child.mjs', import.meta.url)), [JSON.stringify({ name: w.name, storeKind: values.store ?? 'sqlite', server: process.env.PETREL_BENCH_POSTGRES_URL, size: values.quick ? w.size.quick : w.size.full, counting: values.count, dist, given: {} })], { execArgv: values['cpu-prof'] ? ['--cpu-prof'] : [] })
      child.once('message', resolve); child.once('exit', (c) => c && reject(new Error('exit ' + c)))
    })
    all.push(f)
  }
  for (const k of Object.keys(all[0])) { const v = all.map((a) => a[k]); console.log(w.name, k, median(v).toFixed(2), `(${Math.min(...v).toFixed(2)}–${Math.max(...v).toFixed(2)})`) }
}
