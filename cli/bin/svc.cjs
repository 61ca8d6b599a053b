#!/usr/bin/env node
// CommonJS: Node.js prepares its loader of modules only for what needs it, and the version, which scripts ask for often, does not.
if (process.argv.length === 3 && (process.argv[2] === "--version" || process.argv[2] === "-V")) {
  console.log(JSON.parse(require("node:fs").readFileSync(`${__dirname}/../package.json`, "utf8")).version);
} else {
  // Required, not imported: `import()` reads each file on another thread.
  const { main } = require("../dist/main.js");
  main(process.argv.slice(2)).then((code) => {
    process.exitCode = code;
  });
}
