/** The nets of nested workflows, each compiled when a step names it, and the starting values of their instances. */

import { netHash } from '../../../kernel/hash.ts'
import type { ChildStart, Literal } from '../../../model/start.ts'
import type { Net } from '../../../net/net.ts'
import type { Definition } from '../../source/definition.ts'
import { compileWorkflow } from './compile.ts'
import type { Nested } from './nested.ts'
import type { Reading } from './reading.ts'
import { checkNet } from './spec.ts'
import type { Step, Workflow } from './workflow.ts'

type Literals = { readonly [step: string]: Literal }

export class Children {
  readonly #nested: Nested
  readonly #reading: Reading
  readonly #references = new Map<string, string>()
  readonly #nets = new Map<string, Net>()

  constructor(nested: Nested, reading: Reading) {
    this.#nested = nested
    this.#reading = reading
  }

  get nets(): readonly Net[] {
    return [...this.#nets.values()]
  }

  /** The hash of this step's net. */
  reference(step: Step): string {
    const target = this.#nested.targetOf(step)
    if (target === null) throw new Error(`step '${step.name}' is not a workflow`)
    const own = target.workflow === null ? target.definition.start.net : target.workflow
    const timeoutMs = shorter(own.timeoutMs, step.timeoutMs)
    const key = `${step.workflow}/${timeoutMs}`
    const known = this.#references.get(key)
    if (known !== undefined) return known
    const net = target.workflow === null ? this.#foreign(target.definition) : this.#compiled(target.workflow, timeoutMs)
    const clocked = net.timeoutMs === timeoutMs ? net : { ...net, timeoutMs }
    const hash = netHash(clocked)
    this.#nets.set(hash, clocked)
    this.#references.set(key, hash)
    return hash
  }

  #compiled(workflow: Workflow, timeoutMs: number | null): Net {
    const net = compileWorkflow({ ...workflow, timeoutMs }, (inner) => this.reference(inner))
    checkNet(net, workflow, this.#reading)
    return net
  }

  #foreign(definition: Definition): Net {
    for (const net of definition.start.nets ?? []) this.#nets.set(netHash(net), net)
    return definition.start.net
  }

  /**
   * The literals that definitions of other notations store beside their nets: arguments, items; and warnings about
   * them.
   */
  literals(workflow: Workflow): Literals {
    const found: Record<string, Literal> = {}
    for (const step of workflow.steps) {
      const target = this.#nested.targetOf(step)
      if (target === null) continue
      const start = target.workflow === null ? startOf(target.definition) : this.#startOf(target.workflow)
      if (Object.keys(start).length > 0) found[step.name] = { start }
    }
    return found
  }

  #startOf(workflow: Workflow): ChildStart {
    const literals = this.literals(workflow)
    return Object.keys(literals).length === 0 ? {} : { literals }
  }
}

function startOf({ start }: Definition): ChildStart {
  const { literals, items, meta } = start
  return {
    ...(literals === undefined ? {} : { literals }),
    ...(items === undefined ? {} : { items }),
    ...(meta === undefined ? {} : { meta }),
  }
}

/** The step's own timeout applies to its nested workflow, unless that has a shorter one. */
function shorter(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b)
}
