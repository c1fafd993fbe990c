/** What surrounds every page: navigation, the state of the connection, the palette, the help and messages. */
import { signal, useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { liveness, pauseLive } from '../api/changes.ts'
import { onRefusal, onReturn, outage, tryAgain } from '../api/connection.ts'
import { mustSignIn, readSession, session, signOut } from '../api/session.ts'
import { useKeys } from '../browser/keys.ts'
import { go, href, match, path } from '../browser/router.ts'
import { nextTheme, theme } from '../browser/theme.ts'
import { ActionMenu, pageActions, perform } from '../ui/actions.tsx'
import { now, span } from '../ui/moments.tsx'
import { Problem } from '../ui/problem.tsx'
import { Toasts } from '../ui/toast.tsx'
import { Help } from './help.tsx'
import { NAVIGATION, PAGES, type PageEntry, type PageProps } from './pages.ts'
import { Palette } from './palette.tsx'
import { SignIn } from './sign-in.tsx'

type Overlay = 'palette' | 'help' | 'actions'
const overlay = signal<Overlay | null>(null)
const close = (): void => {
  overlay.value = null
}

export function Shell() {
  useEffect(() => onReturn(() => void readSession()), [])
  // Where a sign-in is possible, an answer of 401 means that it has ended; that of a wrong key does not concern it.
  useEffect(() => onRefusal(() => void (session.value?.signed_in === true && readSession())), [])
  useShellKeys()
  const who = session.value
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Banner />
      <div class="frame">
        <Navigation />
        <main id="main" tabIndex={-1}>
          {who === null ? (
            <p class="dim">Connecting …</p>
          ) : mustSignIn(who) ? (
            <SignIn how={who.sign_in} />
          ) : (
            <CurrentPage />
          )}
        </main>
      </div>
      {overlay.value === 'palette' && <Palette onClose={close} />}
      {overlay.value === 'help' && <Help onClose={close} />}
      {overlay.value === 'actions' && <ActionMenu onClose={close} />}
      <Toasts />
    </>
  )
}

function useShellKeys(): void {
  const pages = NAVIGATION.flatMap(({ entries }) => entries)
  useKeys([
    { keys: 'mod+k', what: 'find pages, actions and ids', run: () => toggle('palette') },
    { keys: '?', what: 'this help', run: () => toggle('help') },
    { keys: '.', what: 'actions of this page', run: () => toggle('actions') },
    { keys: '/', what: 'search', run: focusSearch },
    ...pages.map(({ key, title, path: to }) => ({ keys: `g ${key}`, what: `go to ${title}`, run: () => go(href(to)) })),
  ])
  const actions = pageActions.value
  useKeys(
    actions.flatMap((action) =>
      action.key === undefined ? [] : [{ keys: action.key, what: action.label, run: () => void perform(action) }],
    ),
    [actions],
  )
}

function toggle(which: Overlay): void {
  overlay.value = overlay.value === which ? null : which
}

/** The search of the page; a page without one has the palette. */
function focusSearch(): void {
  const field = document.querySelector<HTMLInputElement>('[data-search]')
  if (field === null) overlay.value = 'palette'
  else field.focus()
}

function Banner() {
  const gone = outage.value
  if (gone === null) return null
  return (
    <div class="banner" role="alert">
      The server has not answered for {span(now.value - gone.since)}. The page shows the last data it received.
      {gone.nextTryAt > now.value && <> Next try in {span(gone.nextTryAt - now.value)}.</>}{' '}
      <button type="button" class="small" onClick={() => void tryAgain()}>
        Try now
      </button>
    </div>
  )
}

function Navigation() {
  const open = useSignal(false)
  const here = path.value
  useEffect(() => {
    open.value = false
  }, [here])
  const isHere = (to: string): boolean => (to === '/' ? here === '/' : here === to || here.startsWith(`${to}/`))
  return (
    <header class="side">
      <div class="row">
        <a class="brand grow" href={href('/')}>
          Petrel
        </a>
        <button
          type="button"
          class="menu-button"
          aria-expanded={open.value}
          aria-controls="navigation"
          onClick={() => {
            open.value = !open.value
          }}
        >
          Menu
        </button>
      </div>
      <nav id="navigation" aria-label="Pages" class={open.value ? 'open' : ''}>
        <button type="button" class="find" onClick={() => toggle('palette')}>
          Find … <kbd>⌘K</kbd>
        </button>
        {NAVIGATION.map(({ title, entries }) => (
          <section key={title}>
            <h2>{title}</h2>
            {entries.map(({ path: to, title: name }) => (
              <a key={to} href={href(to)} aria-current={isHere(to) ? 'page' : undefined}>
                {name}
              </a>
            ))}
          </section>
        ))}
        <Status />
      </nav>
    </header>
  )
}

const LIVENESS = {
  live: 'live',
  connecting: 'connecting',
  polling: 'refreshing every few seconds',
  paused: 'paused',
} as const

function Status() {
  const who = session.value
  const isPaused = liveness.value === 'paused'
  return (
    <section class="status">
      <button
        type="button"
        class="plain"
        aria-pressed={isPaused}
        onClick={() => pauseLive(!isPaused)}
        title="Stops and resumes all updates of the page"
      >
        <span aria-hidden="true">{isPaused ? 'Ⅱ' : '●'}</span> {LIVENESS[liveness.value]}
      </button>
      <button type="button" class="plain" onClick={nextTheme}>
        Colours: {theme.value}
      </button>
      <button type="button" class="plain" onClick={() => toggle('help')}>
        Keys <kbd>?</kbd>
      </button>
      {who !== null && (
        <p class="dim">
          {who.subject ?? 'no name'} · {who.tenant === null ? 'all tenants' : who.tenant}
          <br />
          Petrel {who.version} on {who.store}
        </p>
      )}
      {who?.signed_in === true && who.sign_in !== 'none' && (
        <button type="button" class="plain" onClick={() => void signOut()}>
          Sign out
        </button>
      )}
    </section>
  )
}

interface Loaded {
  readonly entry: PageEntry
  readonly Page: ComponentType<PageProps>
}

const loadedPages = new Map<PageEntry, Loaded>()

function CurrentPage() {
  const here = path.value
  const loaded = useSignal<Loaded | null>(null)
  const failure = useSignal<Error | null>(null)
  const found = PAGES.map((entry) => ({ entry, params: match(entry.pattern, here) })).find(
    ({ params }) => params !== null,
  )
  const entry = found?.entry
  useEffect(() => {
    if (entry === undefined) return
    document.title = `${entry.title} · Petrel`
    failure.value = null
    const known = loadedPages.get(entry)
    if (known !== undefined) {
      loaded.value = known
      return
    }
    entry.load().then(
      ({ default: Page }) => {
        loadedPages.set(entry, { entry, Page })
        if (match(entry.pattern, path.value) !== null) loaded.value = { entry, Page }
      },
      (error: Error) => {
        failure.value = error
      },
    )
  }, [entry])
  if (found === undefined || entry === undefined) {
    return (
      <>
        <h1>There is no such page</h1>
        <p>
          <a href={href('/')}>Overview</a>
        </p>
      </>
    )
  }
  if (failure.value !== null) return <Problem error={failure.value} />
  const current = loaded.value
  if (current === null || current.entry !== entry) return <p class="dim">Loading …</p>
  return <current.Page key={here} params={found.params ?? {}} />
}
