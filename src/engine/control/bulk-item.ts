/**
 * The action of a bulk operation on one item. It is the same action as on a single instance or run, except that its
 * transaction also writes the result of the item, and nothing at all unless the item is still pending.
 */
import { PetrelError } from '../../kernel/errors.ts'
import { EngineKey } from '../../kernel/scoped-names.ts'
import {
  type Action,
  BULK_RETRY,
  type OperationItemRow,
  type OperationParameters,
  type OperationRow,
} from '../../model/bulk/rows.ts'
import type { PausedTimeouts } from '../../model/pauses/pauses.ts'
import type { Started } from '../../model/start.ts'
import { type ItemResult, openItem, settleItem } from '../fold/bulk/operations.ts'
import type { Act, Committed, Transactor } from '../transaction/transactor.ts'
import { deleteInstance } from './deletion.ts'
import { Control, type ControlDeps } from './instances.ts'
import { type PauseDeps, Pauses } from './pauses.ts'
import { type RepeatDeps, Repeats } from './repeat/repeats.ts'
import { RunControl } from './runs.ts'

type Runs = Pick<Transactor, 'run'>

/** What a transaction returned, as the result of the item. */
type Reading = (value: unknown, item: OperationItemRow) => ItemResult

const SUCCEEDED = { state: 'succeeded', code: null, message: null, newId: null } as const

/** The row that the action returns is another one if it created it. */
const changed: Reading = (value, { itemId }) => {
  const id = (value as { readonly id?: string } | undefined)?.id ?? itemId
  return { ...SUCCEEDED, newId: id === itemId ? null : id }
}

const retried: Reading = (value, { itemId }) => {
  const { id, created } = value as Started
  if (created) return { ...SUCCEEDED, newId: id }
  const message = `instance ${itemId} was retried by a bulk operation before, as instance ${id}`
  return { state: 'refused', code: 'duplicate', message, newId: id }
}

/** Transactions that also settle an item. */
class SettlingTransactor implements Runs {
  readonly #transactor: Runs
  readonly #item: OperationItemRow
  readonly #reading: Reading

  constructor(transactor: Runs, item: OperationItemRow, reading: Reading) {
    this.#transactor = transactor
    this.#item = item
    this.#reading = reading
  }

  run<T>(act: Act<T>): Promise<Committed<T>> {
    const { operationId, itemId } = this.#item
    return this.#transactor.run({
      ...act,
      need: { ...act.need, bulk: [{ kind: 'items', operationId, ids: [itemId] }] },
      fold: (change, pass) => {
        const item = openItem(change, this.#item)
        const value = act.fold(change, pass)
        settleItem(change, item, this.#reading(value, item))
        return value
      },
    })
  }
}

export type ItemDeps = ControlDeps & RepeatDeps & PauseDeps

/** Throws what the action throws on a single one: a PetrelError is its refusal. */
export async function performItem(deps: ItemDeps, operation: OperationRow, item: OperationItemRow): Promise<void> {
  const { action, target, actor } = operation
  const reading = action === 'retry' ? retried : changed
  const settling = { ...deps, transactor: new SettlingTransactor(deps.transactor, item, reading) }
  const { itemId: id } = item
  if (target === 'runs') return performOnRun(new RunControl(settling), action, { id, actor })
  const control = new Control(settling)
  switch (action) {
    case 'cancel':
      await control.cancelInstance({ id, actor, once: true, undo: await undoes(deps, operation, id) })
      return
    case 'roll_back':
      await control.cancelInstance({ id, actor, undo: true })
      return
    case 'retry':
      await new Repeats(settling).repeat({ id, actor, startKey: new EngineKey(BULK_RETRY + id) })
      return
    case 'pause':
      await new Pauses(settling).pause({ id, actor, reason: operation.reason, timeouts: timeoutsOf(operation) })
      return
    case 'resume':
      await new Pauses(settling).resume({ id, actor })
      return
    case 'delete':
      return deleteInstance(settling, id)
    default:
      throw unknownAction(action, target)
  }
}

async function performOnRun(
  control: RunControl,
  action: Action,
  run: { readonly id: string; readonly actor: string | null },
): Promise<void> {
  switch (action) {
    case 'cancel':
      await control.cancel(run)
      return
    case 'redrive':
      await control.redrive(run)
      return
    case 'delete':
      await control.delete(run)
      return
    case 'dismiss':
      return control.dismiss(run)
    default:
      throw unknownAction(action, 'runs')
  }
}

/** Whether a cancel undoes completed work depends on the notation. */
async function undoes({ store }: ControlDeps, { parameters }: OperationRow, id: string): Promise<boolean> {
  const { undo = [] } = JSON.parse(parameters) as OperationParameters
  if (undo.length === 0) return false
  const row = await store.read.instance(id)
  return row !== null && undo.includes(row.dialect)
}

function timeoutsOf({ parameters }: OperationRow): PausedTimeouts {
  return (JSON.parse(parameters) as OperationParameters).timeouts ?? 'stop'
}

/** Of a newer version. */
function unknownAction(action: string, target: string): Error {
  return new PetrelError('unsupported', `this version of Petrel cannot perform ${action} on ${target}`)
}
