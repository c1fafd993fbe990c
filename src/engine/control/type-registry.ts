/**
 * Which workers may execute a type. Types that are not listed are open to every worker; a listed one to those that state its
 * runtime, and to none while it is disabled. Runs that are held continue; runs that are given back or created wait.
 */

import { inputError, PetrelError } from '../../kernel/errors.ts'
import type { ListingParams, TypeRegistry } from '../../model/registry.ts'
import { checkRuntime } from '../../model/registry.ts'
import type { Store } from '../../store/store.ts'

/** `changed`: called when more runs may be claimable. The store notifies other processes. */
export function typeRegistryOn(store: Store, changed: () => void): TypeRegistry {
  const { registry } = store
  return {
    list: () => registry.runtimes(),
    get: (workflowName) => registry.runtime(workflowName),
    put: async (params) => {
      check(params)
      const { workflowName, runtime = null, isEnabled = null, intentType = null, description, actor = null } = params
      const about = description === undefined ? {} : { description }
      const row = await registry.putRuntime({ workflowName, runtime, isEnabled, intentType, ...about, actor })
      if (row === null) {
        throw new PetrelError(
          'not_found',
          `type '${workflowName}' is not in the registry: to list it, name its runtime`,
          {
            path: 'runtime',
          },
        )
      }
      changed()
      return row
    },
    remove: async (workflowName, actor = null) => {
      const removed = await registry.removeRuntime({ workflowName, actor })
      if (removed) changed()
      return removed
    },
  }
}

function check({ workflowName, runtime, isEnabled, intentType, description }: ListingParams): void {
  checkText(workflowName, 'workflowName', 255, "a type such as 'content.thumbnail.v1'")
  if (workflowName.endsWith('%')) {
    const problem = `the registry lists types one by one; '${workflowName}' is a prefix`
    throw inputError('invalid_request', 'workflowName', problem)
  }
  if (runtime !== undefined) checkRuntime(runtime, 'runtime')
  if (isEnabled !== undefined && typeof isEnabled !== 'boolean') {
    throw inputError('invalid_request', 'isEnabled', 'true or false')
  }
  if (intentType !== undefined) checkText(intentType, 'intentType', 255, "a word such as 'workflow'")
  if (description !== undefined && description !== null && description !== '') {
    checkText(description, 'description', 10_000, 'a string')
  }
}

function checkText(text: unknown, path: string, most: number, wanted: string): void {
  const fits = typeof text === 'string' && text !== '' && text.length <= most
  if (fits && text.isWellFormed() && !text.includes('\0')) return
  throw inputError('invalid_request', path, `${wanted}, of 1 to ${most} characters`)
}
