import type { Lanes } from '../lanes.ts'
export async function doctor(_lanes: Lanes): Promise<readonly { readonly check: string; readonly subject: string; readonly finding: string }[]> {
  return []
}
