/** Prints how long it took to import the plugins of a folder, or to start a kernel with them or without. Arguments: folder, what, how many. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createKernel } from "@svc/kernel";

const [folder, what, count] = process.argv.slice(2);
const names = Array.from({ length: Number(count) }, (_, at) => `small-${at}`);

async function kernelWith(plugins) {
  const sections = Object.fromEntries(plugins.map((name) => [name, { address: "https://example.com/" }]));
  const bench = plugins.length === 0 ? {} : { bench: sections };
  const config = { node: { id: "bench", name: "Bench" }, agents: {}, plugins: plugins.map((name) => `./${name}`), ...bench };
  const kernel = await createKernel({ config, folder });
  await kernel.start();
  return kernel;
}

const began = performance.now();
if (what === "import") await Promise.all(names.map((name) => import(pathToFileURL(join(folder, name, "index.js")).href)));
else {
  const kernel = await kernelWith(what === "empty" ? [] : names);
  const ms = performance.now() - began;
  // The store is a plugin, too.
  const running = kernel.health().plugins.filter(({ state, source }) => state === "running" && source === "path").length;
  if (running !== (what === "empty" ? 0 : names.length)) throw new Error(`${running} plugins run: ${JSON.stringify(kernel.health().problems)}`);
  console.log(JSON.stringify({ ms }));
  process.exit(0);
}
console.log(JSON.stringify({ ms: performance.now() - began }));
process.exit(0);
