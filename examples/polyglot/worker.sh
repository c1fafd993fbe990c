#!/usr/bin/env bash
# A worker in shell: bash, curl, and jq for the JSON.
#
#   OJS_URL=http://127.0.0.1:7070 ./worker.sh [queue …]      default: shell
#
# A handler is a function: the job comes on stdin, the result goes to stdout as JSON. Any exit code but 0 is a failure, and
# stderr gives the reason. SIGTERM lets the current job end. OJS_KEY: an API key, if the server requires one.
set -uo pipefail

server=${OJS_URL:-http://127.0.0.1:7070}
worker=shell-$$
queues=$(jq -cn '$ARGS.positional' --args "${@:-shell}")
stopping=
trap 'stopping=1; kill "${waiting:-}" 2>/dev/null' TERM INT

text.shout() {
  jq '.parent_results[0].text | ascii_upcase | { text: ., by: "Shell" }'
}

# post PATH BODY: prints the answer; fails if it is an error. With run=exec the process becomes curl itself.
post() {
  local auth=()
  [[ -n ${OJS_KEY:-} ]] && auth=(-H "Authorization: Bearer $OJS_KEY")
  ${run:-} curl -sS --fail-with-body --max-time 40 --retry 30 --retry-connrefused --retry-delay 1 "${auth[@]}" \
    -H 'Content-Type: application/openjobspec+json' -d "$2" "$server/ojs/v1$1"
}

work() {
  local job=$1 id type result reason outcome answer
  id=$(jq -r .id <<<"$job")
  type=$(jq -r .type <<<"$job")
  reason=$(mktemp)
  # The attempt fences: had the lease ended and the job been started again, this report would be refused.
  outcome=$(jq -c --arg worker "$worker" '{ job_id: .id, worker_id: $worker, attempt }' <<<"$job")
  if ! declare -F "$type" >/dev/null; then
    answer=$(post /workers/nack "$(jq -c --arg m "no handler for $type" \
      '. + { error: { code: "handler_not_found", message: $m, retryable: false } }' <<<"$outcome")")
  elif result=$("$type" <<<"$job" 2>"$reason"); then
    answer=$(post /workers/ack "$(jq -c --argjson result "$result" '. + { result: $result }' <<<"$outcome")")
  else
    answer=$(post /workers/nack "$(jq -c --rawfile m "$reason" \
      '. + { error: { code: "handler_error", message: $m } }' <<<"$outcome")")
  fi
  rm -f "$reason"
  echo "$type $id: $(jq -r '.state // (.error | .code + ": " + .message)' <<<"$answer")"
}

echo "$worker works on $queues of $server"
asked=$(jq -cn --argjson queues "$queues" --arg worker "$worker" \
  '{ queues: $queues, worker_id: $worker, visibility_timeout_ms: 60000, wait_ms: 20000 }')
fetched=$(mktemp)
while [[ -z $stopping ]]; do
  # In the background: a signal ends curl and with it the wait. No job is fetched for a worker that is gone.
  run=exec post /workers/fetch "$asked" >"$fetched" &
  waiting=$!
  wait "$waiting" || { [[ -n $stopping ]] || sleep 1; continue; }
  waiting=
  while read -r job; do work "$job"; done < <(jq -c '.jobs[]' "$fetched")
done
rm -f "$fetched"
