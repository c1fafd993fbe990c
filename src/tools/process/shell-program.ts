/**
 * The program that /bin/sh runs. The command is passed in a variable, which other users cannot see as they see
 * arguments; it runs in a shell within this one, so that nothing it does (exit, exec, wait for all its children)
 * affects the watch.
 *
 * The watch reads descriptor 4, on which nothing is ever sent: when it closes, the worker is gone, and no other process
 * would end the command. TERM is caught here and reset to the default inside, so that a command that cleans up after
 * TERM has the time to do so.
 */
export const COMMAND_VARIABLE = 'PETREL_COMMAND'

export const SHELL_PROGRAM = `
trap : TERM
{ read -r nothing <&4; kill -KILL 0; } >/dev/null 2>&1 &
petrel_watch=$!
exec 4<&-
petrel_command=$${COMMAND_VARIABLE}
unset ${COMMAND_VARIABLE}
( eval "$petrel_command" )
petrel_code=$?
exec 2>/dev/null
kill -KILL "$petrel_watch"
wait "$petrel_watch"
exit "$petrel_code"
`
