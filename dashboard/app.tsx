/** The dashboard: from an alert to the cause, to what can be done, to whether it helped. */
import { render } from 'preact'
import { readSession } from './api/session.ts'
import { Shell } from './app/shell.tsx'
import { applyTheme } from './browser/theme.ts'

applyTheme()
void readSession()
render(<Shell />, document.getElementById('app') as HTMLElement)
