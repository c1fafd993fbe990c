/**
 * Files that lie beside the code: `src` while it runs from its sources, `dist` once it is built. However a build cuts the code
 * into pieces, each lies where this file does, directly in that folder; no other file may go by its own place.
 */
const CODE = new URL('./', import.meta.url)

/** A file or folder of the code, as in `store/sqlite/migrations/`. */
export function codeFile(path: string): URL {
  return new URL(path, CODE)
}

/** One of the package around it, as in `package.json`. */
export function packageFile(path: string): URL {
  return new URL(`../${path}`, CODE)
}
