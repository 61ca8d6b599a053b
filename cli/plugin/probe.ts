/* Runs somebody else's plugin in a process of its own, and tells its parent what was seen. Started by look.ts. */
import { pathToFileURL } from "node:url";
import { observe, resolveEntry } from "@svc/kernel";
import type { Plugin } from "@svc/sdk";
import type { Probed, ProbeTask } from "./look.ts";

const answer = (probed: Probed): void => {
  process.send?.(probed, undefined, undefined, () => process.exit(0));
};

process.once("message", (task: ProbeTask) => {
  work(task).then(
    (value) => answer({ ok: true, value }),
    (error: unknown) => answer({ ok: false, reason: error instanceof Error ? error.message : String(error) }),
  );
});

async function work(task: ProbeTask): Promise<unknown> {
  const source = { ...resolveEntry(task.path, "/", []), from: "package" as const };
  switch (task.kind) {
    case "observe":
      return observe(source, task.folder);
    case "leaks": {
      const { measureLeaks } = await import("./leaks.js");
      const { default: plugin } = (await import(pathToFileURL(source.entry as string).href)) as { default: Plugin<never> };
      return measureLeaks(plugin, task.sample);
    }
    case "conformance": {
      const { runSuite } = await import("./suite.js");
      return runSuite(task.path, task.module);
    }
  }
}
