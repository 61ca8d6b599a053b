#!/usr/bin/env bash
# Runs the tier tests on the real programs. Installs them first; says why where that cannot be done, and tests what is there.
set -u
cd "$(dirname "$0")"
stamp=node_modules/.installed
if ! cmp -s package-lock.json "$stamp"; then
  if npm ci --prefer-offline --no-audit --no-fund --loglevel=error; then
    cp package-lock.json "$stamp"
  else
    echo "test:peers: the programs could not be installed (npm ci failed, see above): their tests are skipped" >&2
  fi
fi
cd ../..
# Where bubblewrap is installed one of the programs gives its commands a /tmp of their own, and would not find its own home there.
case "${TMPDIR:-/tmp}" in /tmp*) [ -d /var/tmp ] && export TMPDIR=/var/tmp ;; esac
exec npx vitest run --config test/peers/vitest.config.ts "$@"
