/**
 * What /bin/sh is given to run. The command comes in a variable, which other users cannot see as they see arguments; it runs in
 * a shell within this one, so that whatever it does (exit, exec, wait for all its children) leaves the watch alone.
 *
 * The watch reads descriptor 4, on which nothing ever comes: that it closes means that the worker is gone, and nobody is left
 * who would end the command. TERM is caught here, which is the default again inside, so that a command that tidies up when
 * it is ended has its time for it.
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
