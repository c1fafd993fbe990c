import { readFileSync } from 'node:fs'
import { packageFile } from '../files.ts'

export function packageVersion(): string {
  return (JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as { readonly version: string }).version
}
