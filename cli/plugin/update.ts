import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { aside, install } from "./add.ts";
import { openRoot } from "./dependency-root.ts";
import { installedSubject } from "./subject.ts";

/** Updates one installed plugin, by name or id, or all to the newest version in the registry. Asks for consent to new permissions. */
export async function update(cli: Cli, word: string | undefined, options: Readonly<Record<string, unknown>>): Promise<void> {
  const recorded = openRoot(cli.dataFolder).packages();
  const names = word === undefined ? Object.keys(recorded) : [installedSubject(cli, word).entry];
  if (names.length === 0) throw fail("SVC_CLI_MISSING", { what: "installed plugin", next: "svc plugin add" });
  for (const name of names) {
    const version = recorded[name] ?? "";
    if (!/^\d/.test(version)) {
      cli.print(`${name} was installed from ${version}; add its newer version from there: svc plugin add <tarball or address>`, {
        entry: name,
        updated: false,
      });
      continue;
    }
    await aside(cli, `${name}@latest`, async (fetched) => {
      if (fetched.spec === `${name}@${version}`) cli.print(`${name} ${version} is the newest.`, { entry: name, version, updated: false });
      else await install(cli, fetched, options, true);
    });
  }
}
