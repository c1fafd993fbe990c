/** Signs in with an API key, or with the local token of `petrel dev`. The browser keeps neither: it gets a cookie. */
import { useSignal } from '@preact/signals'
import { signIn } from '../api/session.ts'
import { Problem } from '../ui/problem.tsx'

export function SignIn({ how }: { readonly how: 'none' | 'key' | 'token' }) {
  const key = useSignal('')
  const failure = useSignal<Error | null>(null)
  const busy = useSignal(false)
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (key.value.trim() === '' || busy.value) return
    busy.value = true
    try {
      await signIn(key.value.trim())
    } catch (error) {
      failure.value = error as Error
    } finally {
      busy.value = false
      key.value = ''
    }
  }
  const isToken = how === 'token'
  return (
    <form class="sign-in card" onSubmit={(event) => void submit(event)}>
      <h1>Sign in</h1>
      <label>
        {isToken ? 'Local token' : 'API key'}
        <input
          type="password"
          autocomplete="off"
          value={key.value}
          onInput={(event) => {
            key.value = event.currentTarget.value
          }}
        />
      </label>
      <p class="dim">
        {isToken ? (
          <>
            It is in the data directory: <code>cat .petrel/dev-token</code>. <code>petrel dev</code> prints an address
            that contains it.
          </>
        ) : (
          <>
            An administrator creates one: <code>petrel keys add --subject ada --scope read,enqueue</code>.
          </>
        )}
      </p>
      {failure.value !== null && <Problem error={failure.value} />}
      <button type="submit" class="primary" disabled={busy.value}>
        Sign in
      </button>
    </form>
  )
}
