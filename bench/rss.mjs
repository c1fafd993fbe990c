// @ts-check
/** The resources of other processes, from the kernel. Zero if unknown: not Linux, or the process has ended. */
import { readFileSync } from 'node:fs'

/** The length of a tick in the file with the processor time. Linux reports 100 a second to every process. */
const TICK_MICROS = 10_000

/** @param {number | undefined} pid */
export function rssMb(pid) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(statusOf(pid, 'status'))?.[1] ?? 0) / 1024
}

/** Processor time so far. @param {number | undefined} pid */
export function cpuMicros(pid) {
  // After the name, which may contain any character.
  const fields = statusOf(pid, 'stat')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * TICK_MICROS
}

/** @param {number | undefined} pid @param {string} file */
function statusOf(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
