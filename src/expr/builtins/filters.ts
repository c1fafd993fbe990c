/** The filters that may follow `|`. To add some, write a table in a file of its own and spread it in here. */
import type { Filter, Table } from '../evaluate/callable.ts'
import { collectionFilters } from './filters-collection.ts'
import { conversionFilters } from './filters-conversion.ts'
import { groupFilters } from './filters-group.ts'
import { layoutFilters } from './filters-layout.ts'
import { numberFilters } from './filters-number.ts'
import { orderFilters } from './filters-order.ts'
import { textFilters } from './filters-text.ts'

export const filters: Table<Filter> = {
  ...conversionFilters,
  ...textFilters,
  ...numberFilters,
  ...collectionFilters,
  ...orderFilters,
  ...groupFilters,
  ...layoutFilters,
}
