#!/usr/bin/env node
// The version is asked for often and by scripts: it is answered before anything is loaded.
if (process.argv.length === 3 && (process.argv[2] === "--version" || process.argv[2] === "-V")) {
  const { readFileSync } = await import("node:fs");
  console.log(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version);
} else {
  const { main } = await import("../dist/main.js");
  process.exitCode = await main(process.argv.slice(2));
}
