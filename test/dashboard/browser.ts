/**
 * A real browser against a real server on both stores. One Chromium serves all tests of a file; each test has a context of its
 * own, so cookies and stored settings do not leak. Every page must be free of errors in its console.
 */
import { existsSync } from 'node:fs'
import axe from 'axe-core'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { chromiumPath, launchChromium } from '../../scripts/services/chromium.mjs'
import { codeFile } from '../../src/files.ts'
import type { Serving } from '../server/serving.ts'

/** Shorter than the time limit of a test, so that a failure names what was awaited. */
const WITHIN_MS = 12_000
let launched: Promise<Browser> | null = null

function browser(): Promise<Browser> {
  launched ??= launchChromium()
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

export function requireBuild(): void {
  if (!existsSync(codeFile('../dist/dashboard/index.html'))) {
    throw new Error('The dashboard has not been built: npm run build')
  }
}
