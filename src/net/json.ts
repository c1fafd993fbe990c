import type { Json } from './net.ts'

export function isMap(json: Json | null | undefined): json is { readonly [key: string]: Json } {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}
