/**
 * Does the file accept writes? 64 KiB are written and committed, then removed: as much as a step with a large result. A
 * change in place would prove little, since it needs no space.
 */
import type { Connection } from './connection.ts'

const PUT = `INSERT INTO workflow_setting (key, value) VALUES ('probe', printf('%.65536c', 'x'))
  ON CONFLICT (key) DO UPDATE SET value = excluded.value`
const REMOVE = `DELETE FROM workflow_setting WHERE key = 'probe'`

export async function probeWrite(connection: Connection): Promise<void> {
  const put = (sql: string) => (): void => {
    connection.recent.check(connection)
    connection.statement(sql).get()
  }
  // Nothing remembered about runs changes here.
  const committed = (): void => undefined
  await connection.write(put(PUT), committed)
  await connection.write(put(REMOVE), committed)
}
