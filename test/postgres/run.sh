#!/usr/bin/env bash
# Runs the tests of the PostgreSQL store on other versions of the server than the one that is installed.
# A server refuses to run as root and its user may not read this folder, so the servers are installed in a temporary one that all may read.
set -euo pipefail
cd "$(dirname "$0")"
servers=$(mktemp -d)
trap 'rm -rf "$servers"' EXIT
cp package.json package-lock.json "$servers"
npm ci --prefix "$servers" --prefer-offline --no-audit --no-fund --loglevel=error
chmod -R a+rX "$servers"
cd ../..
for server in "$servers"/node_modules/postgres-*; do
  "$server/native/bin/postgres" --version
  SVC_TEST_POSTGRES_BIN="$server/native/bin" npx vitest run "$@"
done
