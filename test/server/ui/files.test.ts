/** The files of the dashboard: what is served under which name, and how. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, brotliDecompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Serving, serveOn } from '../serving.ts'

const INDEX = '<!doctype html><title>Petrel</title>'
const SCRIPT = 'console.log("petrel")'
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Buffer
}

/** The path byte for byte: `fetch` would resolve `..`. */
function raw(s: Serving, path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(s.server.url)
    const sent = httpRequest({ hostname, port, path, method, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers as never, body: Buffer.concat(chunks) }),
      )
    })
    sent.on('error', reject)
    sent.end()
  })
}

function build(folder: string): void {
  mkdirSync(join(folder, 'assets'), { recursive: true })
  writeFileSync(join(folder, 'index.html'), INDEX)
  writeFileSync(join(folder, 'index.html.br'), brotliCompressSync(INDEX))
  writeFileSync(join(folder, 'index.html.gz'), gzipSync(INDEX))
  writeFileSync(join(folder, 'assets', 'main-4f2a.js'), SCRIPT)
  writeFileSync(join(folder, 'assets', 'main-4f2a.js.br'), brotliCompressSync(SCRIPT))
  writeFileSync(join(folder, 'assets', 'main-4f2a.js.gz'), gzipSync(SCRIPT))
  writeFileSync(join(folder, 'assets', 'style-11aa.css'), 'body{}')
  writeFileSync(join(folder, 'assets', 'notes.secret'), 'not for anyone')
  writeFileSync(join(folder, 'favicon.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>')
}

describe('the dashboard', () => {
  const top = mkdtempSync(join(tmpdir(), 'petrel-dashboard-'))
  const folder = join(top, 'dashboard')
  let s: Serving
  beforeAll(async () => {
    build(folder)
    writeFileSync(join(top, 'secret.txt'), 'a secret')
    symlinkSync(join(top, 'secret.txt'), join(folder, 'assets', 'link.txt'))
    // A token is needed for everything but the files.
    s = await serveOn('sqlite::memory:', { dashboard: pathToFileURL(`${folder}/`), token: 'dev_t' })
  })
  afterAll(async () => {
    await s.server.close()
    await s.engine.close()
    await s.store.close()
    rmSync(top, { recursive: true, force: true })
  })

  it.each(['/ui/', '/ui/instances', '/ui/instances/0190-1/graph', '/ui/definitions/order.v2', '/ui/?q=state:failed'])(
    '%s is the application',
    async (path) => {
      const { status, headers, body } = await raw(s, path)
      expect([status, headers['content-type'], headers['cache-control'], body.toString()]).toEqual([
        200,
        'text/html; charset=utf-8',
        'no-cache',
        INDEX,
      ])
      expect(headers).toMatchObject({
        'content-security-policy': POLICY,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        vary: 'accept-encoding',
      })
      expect(headers['access-control-allow-origin']).toBeUndefined()
    },
  )

  it.each(['/', '/ui'])('%s leads there', async (path) => {
    const { status, headers } = await raw(s, path)
    expect([status, headers['location']]).toEqual([302, '/ui/'])
  })

  it('assets are immutable, with their types', async () => {
    const script = await raw(s, '/ui/assets/main-4f2a.js')
    expect([script.status, script.headers['content-type'], script.headers['cache-control']]).toEqual([
      200,
      'text/javascript; charset=utf-8',
      'public, max-age=31536000, immutable',
    ])
    expect(script.headers['content-security-policy']).toBe(POLICY)
    expect((await raw(s, '/ui/assets/style-11aa.css')).headers['content-type']).toBe('text/css; charset=utf-8')
    expect((await raw(s, '/ui/favicon.svg')).headers['content-type']).toBe('image/svg+xml; charset=utf-8')
  })

  it.each([
    [undefined, undefined],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['*', 'br'],
    ['identity', undefined],
    ['br;q=0.0, *', 'gzip'],
    ['brotli', undefined],
  ])('Accept-Encoding: %s', async (asked, coding) => {
    const { headers, body } = await raw(
      s,
      '/ui/assets/main-4f2a.js',
      asked === undefined ? {} : { 'accept-encoding': asked },
    )
    expect(headers['content-encoding']).toBe(coding)
    expect(headers['content-length']).toBe(String(body.length))
    if (coding === 'br') expect(brotliDecompressSync(body).toString()).toBe(SCRIPT)
  })

  it('an unchanged file is not sent again', async () => {
    const { headers } = await raw(s, '/ui/')
    const etag = headers['etag'] as string
    for (const known of [etag, `"x", ${etag}`, '*', etag.replace('W/', '')]) {
      const again = await raw(s, '/ui/', { 'if-none-match': known })
      expect([again.status, again.body.length, again.headers['etag']]).toEqual([304, 0, etag])
    }
    expect((await raw(s, '/ui/', { 'if-none-match': '"x"' })).status).toBe(200)
  })

  it('HEAD has the headers alone', async () => {
    for (const path of ['/ui/', '/ui/assets/main-4f2a.js']) {
      const { status, headers, body } = await raw(s, path, {}, 'HEAD')
      expect([status, body.length, Number(headers['content-length']) > 0]).toEqual([200, 0, true])
    }
  })

  it.each([
    '/ui/assets/../../secret.txt',
    '/ui/assets/..%2f..%2fsecret.txt',
    '/ui/assets/%2e%2e/%2e%2e/secret.txt',
    '/ui/assets/..%5c..%5csecret.txt',
    '/ui/..%2fsecret.txt',
    '/ui/../secret.txt',
    '/ui/assets/%2fetc%2fpasswd',
    '/ui/%2e%2e/',
    '/ui/assets/%00',
    '/ui/assets/main-4f2a.js%00.css',
    '/ui/assets/link.txt',
    '/ui/assets/notes.secret',
    '/ui/assets/main-4f2a.js.br',
    '/ui/assets/',
    '/ui/assets/none-1.js',
    '/ui/none.js',
    `/ui/assets/${'a'.repeat(10_000)}.js`,
    '/ui/assets/__proto__',
    '/ui/assets/constructor',
  ])('%.60s: nothing', async (path) => {
    const { status, headers, body } = await raw(s, path)
    expect(body.toString()).not.toContain('secret\n')
    expect(body.toString()).not.toContain('a secret')
    expect(status).toBe(404)
    expect(headers['content-security-policy']).toBe(POLICY)
  })

  it('another build is served without a new start', async () => {
    writeFileSync(join(folder, 'assets', 'main-9c9c.js'), 'console.log(2)')
    writeFileSync(join(folder, 'index.html'), `${INDEX}<p>2`)
    rmSync(join(folder, 'index.html.br'))
    utimesSync(join(folder, 'index.html'), new Date(), new Date(Date.now() + 5_000))
    expect((await raw(s, '/ui/')).body.toString()).toBe(`${INDEX}<p>2`)
    expect((await raw(s, '/ui/assets/main-9c9c.js')).status).toBe(200)
  })
})

describe('a server without a dashboard', () => {
  it('says how to build it, and serves it once it is built', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'petrel-no-dashboard-'))
    const s = await serveOn('sqlite::memory:', { dashboard: pathToFileURL(`${folder}/`) })
    const { status, headers, body } = await raw(s, '/ui/')
    expect([status, headers['content-type']]).toEqual([404, 'text/plain; charset=utf-8'])
    expect(body.toString()).toContain('npm run build')
    expect((await raw(s, '/ui/assets/main-4f2a.js')).status).toBe(404)
    build(folder)
    expect((await raw(s, '/ui/')).status).toBe(200)
    await s.server.close()
    await s.engine.close()
    await s.store.close()
    rmSync(folder, { recursive: true, force: true })
  })
})
