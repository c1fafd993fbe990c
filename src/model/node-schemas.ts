import { schemaProblem } from '../kernel/json-schema.ts'
/** All schemas of a net that are none, with the path of each mistake. */
import type { Net } from '../net/net.ts'
import type { Problem } from '../net/validate/policy.ts'
export function schemaProblems(net: Net): readonly Problem[] {
  return net.nodes.flatMap(({ key, schema }) => {
    if (schema === undefined) return []
    const parts = { input: schema.input?.schema ?? null, output: schema.output }
    return Object.entries(parts).flatMap(([name, part]) => {
      const message = part === null ? null : schemaProblem(part)
      return message === null ? [] : [{ path: `nodes.${key}.schema.${name}`, message }]
    })
  })
}
