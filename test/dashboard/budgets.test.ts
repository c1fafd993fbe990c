/** The size of the dashboard, and what its files may contain: read from the build, and asked of a server. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeFile } from '../../src/files.ts'
import { type Serving, serveOn } from '../server/serving.ts'
import { inBrowser, openWindow, requireBuild } from './browser.ts'

const FIRST_PAGE_BYTES = 60_000
const ALL_BYTES = 150_000
/** Names of XML, and examples in fields and commands: nothing is loaded from them. */
const ONLY_TEXT =
  /^http:\/\/www\.w3\.org\/(?:2000\/svg|1999\/xhtml|1998\/Math\/MathML)$|\/\/example\.com(?:\/|$)|\/\/localhost:7070\//

const folder = fileURLToPath(codeFile('../dist/dashboard'))
/** With their paths below /ui/, without the compressed ones. */
const names = (): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(?:html|js|css|svg)$/.test(name))
const bytesOf = (name: string): Buffer => readFileSync(join(folder, name))
const compressedBytes = (name: string): number => bytesOf(`${name}.gz`).length

let s: Serving
beforeAll(async () => {
  requireBuild()
  s = await serveOn('sqlite::memory:')
})
afterAll(async () => {
  await s.server.close()
  await s.engine.close()
  await s.store.close()
})

describe('the files of the dashboard', () => {
  it('are at most 150 kB, compressed', () => {
    expect(names().length).toBeGreaterThan(5)
    expect(names().reduce((sum, name) => sum + compressedBytes(name), 0)).toBeLessThanOrEqual(ALL_BYTES)
  })

  it('have a hash of their content in their names, except the page', () => {
    for (const name of names()) {
      expect(name).toMatch(name.endsWith('.html') ? /^index\.html$/ : /^assets\/[\w-]+-[\w-]{8}\.(?:js|css|svg)$/)
    }
  })

  it('are there compressed, and equal to what was compressed', () => {
    for (const name of names()) {
      expect(gunzipSync(bytesOf(`${name}.gz`)).equals(bytesOf(name)), `${name}.gz`).toBe(true)
      expect(brotliDecompressSync(bytesOf(`${name}.br`)).equals(bytesOf(name)), `${name}.br`).toBe(true)
    }
  })

  it('name no other host, evaluate no text, and the page contains neither scripts nor styles', () => {
    for (const name of names()) {
      const text = bytesOf(name).toString('utf8')
      const addresses = [...text.matchAll(/\b(?:https?|wss?):\/\/[\w.-]+[^\s"'`]*/g)].map(([address]) => address)
      expect(
        addresses.filter((address) => !ONLY_TEXT.test(address)),
        name,
      ).toEqual([])
      expect(text, name).not.toMatch(/\beval\(|new Function\(|sourceMappingURL/)
    }
    const page = bytesOf('index.html').toString('utf8')
    expect(page).not.toMatch(/<style|<script(?![^>]* src=)| style=| on\w+=/)
  })

  it('are sent compressed, permanently kept, and under a policy without inline code', async () => {
    for (const name of names()) {
      const { status, headers } = await s.get(`/ui/${name === 'index.html' ? '' : name}`, { 'accept-encoding': 'br' })
      expect([name, status, headers.get('content-encoding')]).toEqual([name, 200, 'br'])
      if (name === 'index.html') expect(headers.get('etag')).not.toBeNull()
      else expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).toContain("default-src 'none'")
      expect(policy).toContain("script-src 'self'")
      expect(policy).toContain("style-src 'self'")
      expect(policy).not.toMatch(/unsafe|\*|https?:/)
    }
  })
})

inBrowser('the first page', () => {
  it('is at most 60 kB, compressed, and asks no other host', async () => {
    const { page, go, errors, close } = await openWindow(s)
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    await go('/')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await page.waitForLoadState('load')
    expect(asked.filter((url) => !url.startsWith(`${s.server.url}/`))).toEqual([])
    const files = asked
      .map((url) => new URL(url).pathname)
      .filter((path) => path.startsWith('/ui/'))
      .map((path) => (path === '/ui/' ? 'index.html' : path.slice('/ui/'.length)))
    expect(files).toContain('index.html')
    expect(files.length).toBeGreaterThan(3)
    expect(files.reduce((sum, name) => sum + compressedBytes(name), 0)).toBeLessThanOrEqual(FIRST_PAGE_BYTES)
    expect(errors()).toEqual([])
    await close()
  })
})
