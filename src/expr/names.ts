/** The free names of an expression or template: the names it needs from the scope. */
import type { Block, Node, Placed } from './parse/syntax.ts'

/** A root name and the keys below it, as far as they are constant in the source. */
export type Name = readonly [string, ...string[]]

export function namesInNode(node: Node): readonly Name[] {
  const collector = new Collector()
  collector.node(node, new Set())
  return collector.names()
}

export function namesInBlocks(blocks: readonly Block[]): readonly Name[] {
  const collector = new Collector()
  collector.blocks(blocks, new Set())
  return collector.names()
}

export function mergeNames(lists: readonly (readonly Name[])[]): readonly Name[] {
  return [...new Map(lists.flat().map((name) => [JSON.stringify(name), name])).values()]
}

/** The key that a function reads, if it is a literal. */
function keyOf({ func, args }: Extract<Node, { readonly kind: 'function' }>): readonly string[] {
  const [key] = args
  return func.byKey === true && key?.kind === 'constant' && typeof key.value === 'string' ? [key.value] : []
}

/** Names bound by the template itself at this point. */
type Bound = ReadonlySet<string>

class Collector {
  readonly #names: Name[] = []

  names(): readonly Name[] {
    return mergeNames([this.#names])
  }

  #found(root: string, keys: readonly string[], bound: Bound): void {
    if (!bound.has(root)) this.#names.push([root, ...keys])
  }

  node(node: Node, bound: Bound): void {
    const visit = (inner: Node) => this.node(inner, bound)
    switch (node.kind) {
      case 'constant':
        return
      case 'name':
      case 'attribute':
        return this.#path(node, bound)
      case 'item':
        visit(node.object)
        return visit(node.key)
      case 'slice':
        return [node.object, node.start, node.stop, node.step].forEach(visit)
      case 'list':
      case 'tuple':
        return node.items.forEach(visit)
      case 'dict':
        return node.entries.flat().forEach(visit)
      case 'chain':
        visit(node.first)
        return node.links
          .flatMap((link) => (link.kind === 'compare' ? link.comparisons.map(({ right }) => right) : [link.right]))
          .forEach(visit)
      case 'not':
      case 'minus':
      case 'plus':
        return visit(node.operand)
      case 'choice':
        return [node.condition, node.yes, node.no].forEach(visit)
      case 'filter':
      case 'test':
        visit(node.operand)
        return node.args.forEach(visit)
      case 'function':
        if (node.func.reads !== undefined) this.#found(node.func.reads, keyOf(node), new Set())
        node.args.forEach(visit)
        return node.named.map(([, value]) => value).forEach(visit)
      case 'method':
        visit(node.object)
        return node.args.forEach(visit)
    }
  }

  #path(node: Node, bound: Bound): void {
    const keys: string[] = []
    let root = node
    while (root.kind === 'attribute') {
      keys.unshift(root.name)
      root = root.object
    }
    if (root.kind === 'name') this.#found(root.name, keys, bound)
    else this.node(root, bound)
  }

  /**
   * A {% set %} binds for what follows it in the same body. After an {% if %} it may not have been executed, so a name
   * set inside counts as free again: reporting one name too many is harmless, one too few is not.
   */
  blocks(blocks: readonly Block[], outer: Bound): void {
    let bound = outer
    const visit = (placed: Placed) => this.node(placed.node, bound)
    for (const block of blocks) {
      switch (block.kind) {
        case 'text':
          break
        case 'output':
          visit(block.value)
          break
        case 'if':
          for (const branch of block.branches) {
            visit(branch.condition)
            this.blocks(branch.body, bound)
          }
          this.blocks(block.otherwise, bound)
          break
        case 'for': {
          visit(block.iterable)
          const items = new Set([...bound, ...block.targets])
          if (block.condition !== null) this.node(block.condition.node, items)
          this.blocks(block.body, new Set([...items, 'loop']))
          this.blocks(block.otherwise, bound)
          break
        }
        case 'set':
          visit(block.value)
          bound = new Set([...bound, ...block.targets])
          break
        case 'keep':
          visit(block.value)
          this.#found(block.target, [], bound)
          break
        case 'capture':
          this.blocks(block.body, bound)
          bound = new Set([...bound, block.target])
          break
      }
    }
  }
}
