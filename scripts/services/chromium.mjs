// @ts-check
/** The Chromium of this machine: how it is found and started by tests, measurements and screenshots. */
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** @returns {string | null} null: none is installed */
export function chromiumPath() {
  const named = process.env['PETREL_TEST_CHROMIUM'] ?? ''
  if (named !== '') return named
  return PLACES.find((path) => existsSync(path)) ?? null
}

/** @param {readonly string[]} [flags] further ones */
export function launchChromium(flags = []) {
  const executablePath = chromiumPath()
  if (executablePath === null) throw new Error('There is no Chromium (PETREL_TEST_CHROMIUM).')
  return chromium.launch({ executablePath, args: [...FLAGS, ...flags] })
}
