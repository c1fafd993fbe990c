/** Values cut in SQL to what a list shows of them (../shown.ts). */

/** The value, or its marker where `isShown` is false. */
export function shownJson(value: string, isShown: string): string {
  const marker = `'{"$omitted":{"bytes":' || octet_length(${value}) || '}}'`
  return `CASE WHEN ${value} IS NULL OR ${isShown} THEN ${value} ELSE ${marker} END`
}
