/* Runs a third-party plugin in a process of its own, and reports the result to its parent. Started by look.ts. */
import { importFile, placeOf, resolveEntry } from "@svc/kernel";
import type { Plugin } from "@svc/sdk";
import { BEAT, BEAT_MS, type Probed, type ProbeTask } from "./look.ts";

const answer = (probed: Probed): void => {
  process.send?.(probed, undefined, undefined, () => process.exit(0));
};

setInterval(() => process.send?.(BEAT), BEAT_MS).unref();
process.once("message", (task: ProbeTask) => {
  for (const event of ["uncaughtException", "unhandledRejection"]) process.on(event, (error: unknown) => answer({ ok: false, reason: stray(error, task) }));
  work(task).then(
    (value) => answer({ ok: true, value }),
    (error: unknown) => answer({ ok: false, reason: error instanceof Error ? error.message : String(error) }),
  );
});

/** An uncaught error with its place: a daemon would count it against the plugin. */
function stray(error: unknown, { path }: ProbeTask): string {
  const reason = error instanceof Error ? error.message : String(error);
  const place = placeOf(error, resolveEntry(path, "/", []));
  return `an uncaught error: ${reason}${place === undefined ? "" : ` (${place})`}`;
}

async function work(task: ProbeTask): Promise<unknown> {
  const source = resolveEntry(task.path, "/", []);
  switch (task.kind) {
    case "leaks": {
      const { measureLeaks } = await import("./leaks.js");
      return measureLeaks(await pluginOf(source.entry), task.sample);
    }
    case "torture": {
      const { runTorture } = await import("./suite.js");
      return runTorture(await pluginOf(source.entry), task.sample);
    }
    case "conformance": {
      const { runSuite } = await import("./suite.js");
      return runSuite(task.path, task.module);
    }
  }
}

async function pluginOf(entry: string | undefined): Promise<Plugin<never>> {
  const module = await importFile(entry as string);
  return (module.default ?? module) as Plugin<never>;
}
