/*
 * Compiles the schemas that are known when the packages are built: the kernel's own keys of svc.json, the bodies and queries of its
 * routes, and each plugin's section, keys of agents, actions and routes. The build runs it after the compiler; what it writes lies in each package's dist.
 * A schema that it has not seen is compiled by the daemon when it is used.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { APART } from "./apart.mjs";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../..");
const built = (path) => import(pathToFileURL(join(ROOT, path)).href);

/** What each module of checks is made of: its file, and the schemas with what they are read for. */
export async function schemaUses() {
  const { CORE_SCHEMA } = await built("kernel/dist/core/config/core-schema.js");
  const { kernelRoutes } = await built("kernel/dist/http/routes/index.js");
  // Of a route only the schemas are read: its handler is what asks the kernel.
  const routes = kernelRoutes({}).flatMap(({ body, query }) => [use(body, "body"), use(query, "query")].flat());
  const modules = [
    { file: "kernel/dist/checks/config.js", uses: use(CORE_SCHEMA, "document") },
    { file: "kernel/dist/checks/http.js", uses: routes },
  ];
  for (const kinds of readdirSync(join(ROOT, "plugins")).sort()) {
    for (const name of readdirSync(join(ROOT, "plugins", kinds)).sort()) {
      if (APART.includes(`plugins/${kinds}/${name}`)) continue;
      const folder = `plugins/${kinds}/${name}/dist`;
      const { default: plugin } = await built(`${folder}/index.js`);
      const provided = await providedBy(plugin);
      const uses = [...use(sectionOf(plugin), "document"), ...use(plugin.agentConfig, "document"), ...provided];
      if (uses.length > 0) modules.push({ file: `${folder}/schema-checks.js`, uses });
    }
  }
  return modules;
}

/** As `sectionsOf` in kernel/core/host/section-check.ts hands it on. */
const sectionOf = ({ kind, config }) => (kind === "store" && config?.schema !== undefined ? { ...config.schema, restart: true } : config?.schema);

/** What a plugin provides with the defaults of its section; where it needs more than these, its schemas are compiled when they are used. */
async function providedBy(plugin) {
  const { createFakeContext, createMemoryFiles } = await built("sdk/dist/testing.js");
  const { emptySection } = await built("sdk/dist/host.js");
  const { schemaCheck } = await built("kernel/dist/base/schema/schema-check.js");
  const config = emptySection(plugin.config?.schema);
  if (plugin.config?.schema !== undefined) schemaCheck(plugin.config.schema, "document").fits(config);
  const context = createFakeContext(plugin, { config, files: createMemoryFiles() });
  try {
    plugin.setup(context);
  } catch {
    return [];
  }
  const { actions, routes } = context.registered;
  context.end();
  return [
    ...actions.flatMap(({ input, output }) => [...use(input, "body"), ...use(output, "body")]),
    ...routes.flatMap(({ body, query }) => [...use(body, "body"), ...use(query, "query")]),
  ];
}

const use = (schema, reading) => (schema === undefined ? [] : [{ schema, reading }]);

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { standaloneModule } = await built("kernel/dist/base/schema/standalone.js");
  for (const { file, uses } of await schemaUses()) {
    const [path, text] = [join(ROOT, file), standaloneModule(uses)];
    // A daemon may be running from there.
    if (existsSync(path) && readFileSync(path, "utf8") === text) continue;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
}
