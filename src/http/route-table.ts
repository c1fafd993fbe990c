/** All registered routes: lists the methods of a path, and is compared with the documents. */
import type { FastifyInstance } from 'fastify'

export interface KnownRoute {
  readonly method: string
  /** As registered: `/ojs/v1/jobs/:id`. */
  readonly path: string
}

export class RouteTable {
  readonly #routes: (KnownRoute & { readonly pattern: RegExp })[] = []

  /** Must come before the first route. */
  watch(app: FastifyInstance): void {
    app.addHook('onRoute', ({ method, url }) => {
      for (const one of Array.isArray(method) ? method : [method]) {
        this.#routes.push({ method: one, path: url, pattern: patternOf(url) })
      }
    })
  }

  get routes(): readonly KnownRoute[] {
    return this.#routes
  }

  /** Methods of a requested path; empty: there is no such path. */
  methodsOf(url: string): readonly string[] {
    const path = url.split('?', 1)[0] as string
    return [...new Set(this.#routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))]
  }
}

function patternOf(path: string): RegExp {
  const source = path
    .split('/')
    .map((part) => (part === '*' ? '.*' : part.startsWith(':') ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')))
    .join('/')
  return new RegExp(`^${source}$`)
}
