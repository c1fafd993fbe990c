/**
 * A real browser against a real server on both stores. One Chromium serves all tests of a file; each test has a context of its
 * own, so cookies and stored settings do not leak. Every page must be free of errors in its console.
 */
import { existsSync } from 'node:fs'
import axe from 'axe-core'
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { codeFile } from '../../src/files.ts'
import type { Serving } from '../server/serving.ts'

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
/** Shorter than the time limit of a test, so that a failure names what was awaited. */
const WITHIN_MS = 12_000
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** null: none is installed. */
export function chromiumPath(): string | null {
  const named = process.env['PETREL_TEST_CHROMIUM'] ?? ''
  if (named !== '') return named
  return PLACES.find((path) => existsSync(path)) ?? null
}

let launched: Promise<Browser> | null = null

function browser(): Promise<Browser> {
  const executablePath = chromiumPath()
  if (executablePath === null) throw new Error('There is no Chromium (PETREL_TEST_CHROMIUM).')
  launched ??= chromium.launch({ executablePath, args: FLAGS })
  return launched
}

/** A file of tests in the browser: they are skipped where none is installed, and fail where the dashboard is not built. */
export function inBrowser(name: string, tests: () => void): void {
  describe.skipIf(chromiumPath() === null)(name, () => {
    beforeAll(requireBuild)
    afterAll(async () => {
      await (await launched)?.close()
      launched = null
    })
    tests()
  })
}

export interface Window {
  readonly page: Page
  readonly context: BrowserContext
  /** Goes to a page of the dashboard: `/instances?q=…`, and waits until it is shown. */
  go(path: string): Promise<void>
  /** Errors of the console and of scripts so far; those named by `allowed` are expected. */
  errors(): readonly string[]
  close(): Promise<void>
}

export interface WindowOptions extends BrowserContextOptions {
  /** Messages of the console that are expected, such as the answer 403 to what a key may not do. */
  readonly allowed?: RegExp
}

export async function openWindow(
  { server }: Pick<Serving, 'server'>,
  { allowed, ...options }: WindowOptions = {},
): Promise<Window> {
  const context = await (await browser()).newContext({ viewport: { width: 1280, height: 800 }, ...options })
  const page = await context.newPage()
  page.setDefaultTimeout(WITHIN_MS)
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' && allowed?.test(message.text()) !== true) errors.push(message.text())
  })
  return {
    page,
    context,
    errors: () => errors,
    async go(path) {
      await page.goto(`${server.url}/ui${path}`)
      await page.locator('main h1').first().waitFor()
    },
    close: () => context.close(),
  }
}

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly html: string }[]
}

/**
 * Fails with every violation of the rules for accessible pages. The context must have been opened with `bypassCSP`.
 * `where`: for the message.
 */
export async function expectAccessible(page: Page, where?: string): Promise<void> {
  await page.evaluate(axe.source)
  const found = (await page.evaluate(
    'axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations)',
  )) as readonly Violation[] | null
  const violations = (found ?? []).map(({ id, help, nodes }) => `${id}: ${help} ${nodes[0]?.html.slice(0, 200)}`)
  expect(violations, where).toEqual([])
}

function requireBuild(): void {
  if (!existsSync(codeFile('../dist/dashboard/index.html'))) {
    throw new Error('The dashboard has not been built: npm run build')
  }
}
