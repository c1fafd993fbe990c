// @ts-check
/** `npm start`: installs and builds whatever is missing, then runs `petrel dev` in this process. */
import { fileURLToPath } from 'node:url'
import { orExit, setup } from './setup.mjs'

orExit(setup)

const petrel = fileURLToPath(new URL('../bin/petrel', import.meta.url))
process.argv = [process.execPath, petrel, 'dev', ...process.argv.slice(2)]
await import(petrel)
