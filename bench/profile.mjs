// @ts-check
/** Reads the output of --cpu-prof: the functions in which the time was spent, without their callees. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const MOST = 25

/** @param {string} folder with one folder per workload @param {(line: string) => void} print */
export function printProfiles(folder, print) {
  for (const workload of readdirSync(folder)) {
    const files = readdirSync(join(folder, workload)).sort()
    const newest = files.at(-1)
    if (newest === undefined) continue
    const path = join(folder, workload, newest)
    const { total, functions } = selfTimes(JSON.parse(readFileSync(path, 'utf8')))
    print(`\nProfile of ${workload}: ${path}`)
    for (const [name, micros] of functions.slice(0, MOST)) {
      const share = ((micros * 100) / total).toFixed(1).padStart(5)
      print(`  ${share} %  ${(micros / 1000).toFixed(0).padStart(6)} ms  ${name}`)
    }
  }
}

/** @param {{ nodes: any[], samples: number[], timeDeltas: number[] }} profile */
function selfTimes({ nodes, samples, timeDeltas }) {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
  /** @type {Map<string, number>} */
  const times = new Map()
  let total = 0
  samples.forEach((id, i) => {
    const name = names.get(id) ?? '?'
    if (name.startsWith('(idle)')) return
    const micros = timeDeltas[i] ?? 0
    total += micros
    times.set(name, (times.get(name) ?? 0) + micros)
  })
  return { total, functions: [...times].sort((a, b) => b[1] - a[1]) }
}

/** @param {{ functionName: string, url: string, lineNumber: number }} frame */
function nameOf({ functionName, url, lineNumber }) {
  const file = url.replace(/^.*\/(?:dist|node_modules)\//, '')
  return `${functionName || '(anonymous)'}${file === '' ? '' : `  ${file}:${lineNumber + 1}`}`
}
