import type { CliHost } from "@svc/sdk";
import type { JobFile } from "./job-changes.ts";

/** svc.json as a command reads and changes it. */
export const fileOf = (cli: CliHost): JobFile => ({ read: () => cli.readSettings(), change: (edits, { by: _, ...options }) => cli.change(edits, options) });
