// @ts-check
/** Playbooks whose length is given at the start: the work grows, the text does not. */

/** @param {{ name: string, parallel: boolean }} params */
export function loopText({ name, parallel }) {
  const spec = parallel ? '{ mode: parallel, max_in_flight: 50 }' : '{ mode: sequential }'
  return `
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: ${name} }
workload: { items: [] }
workflow:
  - step: visit
    loop: { in: "{{ workload.items }}", iterator: item, spec: ${spec} }
    tool: { kind: noop, result: { n: "{{ iter.item }}" } }
    next:
      arcs:
        - step: check
          when: "{{ event.name == 'loop.done' and visit.stats.failed == 0 }}"
  - step: check
    tool: { kind: noop, result: "{{ visit.stats.success }}" }
`
}

/**
 * Pages by a cycle of the graph: each turn is a separate step, whose result names the next page. @param {string} name
 */
export function cycleText(name) {
  return `
apiVersion: noetl.io/v2
kind: Playbook
metadata: { name: ${name} }
workload: { turns: 1 }
workflow:
  - step: page
    tool: { kind: noop, result: { page: "{{ args.page | default(1) }}" } }
    next:
      arcs:
        - step: page
          when: "{{ page.page < workload.turns }}"
          set: { ctx.seen: "{{ page.page }}" }
          args: { page: "{{ page.page + 1 }}" }
`
}
