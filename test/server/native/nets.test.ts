/** Nets over HTTP: by hash, by instance and by version of a definition, each with a validator. */
import { beforeAll, expect, it } from 'vitest'
import { checkReply } from '../documented.ts'
import { keyOf } from '../keys.ts'
import { onBothStores, type Serving } from '../serving.ts'
import { workflow, YAML } from './stage.ts'

onBothStores('nets', (stage) => {
  let s: Serving
  let hash: string
  let paths: readonly string[]
  beforeAll(async () => {
    s = await stage.serve()
    await s.post('/v1/definitions', workflow('order', { version: '1' }), YAML)
    const { id } = (await s.post('/v1/instances', { workflow: 'order' })).body
    hash = (await s.get(`/v1/instances/${id}`)).body.instance.net
    paths = [`/v1/nets/${hash}`, `/v1/instances/${id}/net`, '/v1/definitions/order/versions/1/net']
  })

  it('are the same in each place, and have their hash as the validator', async () => {
    expect((await s.get('/v1/definitions/order')).body.definition.net).toBe(hash)
    for (const path of paths) {
      const reply = checkReply('GET', path, await s.get(path))
      expect([path, reply.body.hash, reply.headers.get('etag')]).toEqual([path, hash, `W/"${hash}"`])
      const again = await s.get(path, { 'if-none-match': `W/"${hash}"` })
      expect([path, again.status, again.text]).toEqual([path, 304, ''])
      expect((await s.get(path, { 'if-none-match': '"other"' })).status).toBe(200)
      expect((await s.ask('HEAD', path)).status).toBe(200)
    }
    expect((await s.get(paths[0] as string)).headers.get('cache-control')).toBe('private, max-age=31536000, immutable')
    expect((await s.get(paths[1] as string)).headers.get('cache-control')).toBe('private, no-cache')
  })

  it.each(['0'.repeat(64), 'nonsense', 'a'.repeat(10_000), '..%2f', '%00'])(
    'what is none has none: %#',
    async (name) => {
      expect([400, 404]).toContain((await s.get(`/v1/nets/${name}`)).status)
    },
  )

  it('a caller of a tenant gets those of its own instances and definitions alone', async () => {
    const acme = await keyOf(s, 'ann', 'acme')
    expect(await Promise.all(paths.map(async (path) => (await s.get(path, acme)).status))).toEqual([403, 404, 404])
    await s.post('/v1/definitions', workflow('order', { version: '1' }), { ...YAML, ...acme })
    expect((await s.get(paths[2] as string, acme)).body.hash).toBe(hash)
  })
})
