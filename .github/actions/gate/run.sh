#!/usr/bin/env bash
# One step with gate: every input comes through the environment and is passed on as it is, never split or expanded.
set -euo pipefail

fail() {
  echo "::error title=gate::$1"
  printf '%s\n' outcome=error exit-code=2 >>"${GITHUB_OUTPUT:-/dev/null}"
  exit 2
}

fetch() {
  local folder archive
  [[ $GATE_ARCHIVE_URL == https://* ]] || fail "archive-url: only https:// is fetched"
  [[ ${GATE_ARCHIVE_SHA256:-} =~ ^[0-9a-f]{64}$ ]] || fail "archive-sha256: 64 hex digits are needed beside archive-url, or the archive is not used"
  folder=$(mktemp -d "${RUNNER_TEMP:-/tmp}/gate-XXXXXX")
  archive=$folder/gate.tar.gz
  curl --proto '=https' --tlsv1.2 -fsSL --retry 3 --max-time 300 --max-filesize 200000000 -o "$archive" "$GATE_ARCHIVE_URL" ||
    fail "archive-url: cannot be fetched"
  sha256sum --status -c - <<<"$GATE_ARCHIVE_SHA256  $archive" || fail "archive-sha256: the archive has another digest, so it is not used"
  tar -xzf "$archive" -C "$folder" --no-same-owner gate || fail "archive-url: holds no program gate at its top"
  PATH=$folder:$PATH
  echo "$folder" >>"${GITHUB_PATH:-/dev/null}"
}

# Options, each given once a line of its value.
each() {
  local line
  while IFS= read -r line; do
    [[ -z $line ]] || words+=(${1:+"$1"} "$line")
  done <<<"$2"
}

[[ -z ${GATE_ARCHIVE_URL:-} ]] || fetch
command -v gate >/dev/null || fail "gate is not on PATH: put it on the runner, or name archive-url and archive-sha256"
[[ -n ${GATE_COMMAND:-} ]] || exit 0

case $GATE_COMMAND in
perf | eval | ingest) words=("$GATE_COMMAND") ;;
*) fail "command: perf, eval or ingest" ;;
esac
each --gate "${GATE_GATES:-}"
each --baseline "${GATE_BASELINE:-}"
each --base "${GATE_BASE:-}"
each --device "${GATE_DEVICE:-}"
if [[ -n ${GATE_OUT:-} ]]; then
  mkdir -p "$(dirname "$GATE_OUT")"
  words+=(--out "$GATE_OUT")
fi
each "" "${GATE_ARGUMENTS:-}"

# What these variables mean to the step, they do not mean to gate.
unset GATE_COMMAND GATE_GATES GATE_BASELINE GATE_BASE GATE_DEVICE GATE_OUT GATE_ARGUMENTS GATE_ARCHIVE_URL GATE_ARCHIVE_SHA256
exec gate "${words[@]}"
