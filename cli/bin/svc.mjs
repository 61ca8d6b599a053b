#!/usr/bin/env node
// The version is asked for often and by scripts: it is answered before anything is loaded.
if (process.argv.length === 3 && (process.argv[2] === "--version" || process.argv[2] === "-V")) {
  const { readFileSync } = await import("node:fs");
  console.log(JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")).version);
} else {
  const { createRequire } = await import("node:module");
  // Required, not imported: `import()` reads each file on another thread.
  const { main } = createRequire(import.meta.url)("../dist/main.js");
  process.exitCode = await main(process.argv.slice(2));
}
