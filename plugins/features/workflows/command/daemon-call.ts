import { type CliHost, type Command, codeOf } from "@svc/sdk";

/** Exit codes of the workflow commands, beside 0, 1 for a refusal and 2 for wrong usage. */
export const EXIT = { noDaemon: 3, failed: 4, canceled: 5 } as const;

const NO_DAEMON = new Set(["SVC_CLI_NO_DAEMON", "SVC_CLI_OTHER_DAEMON", "SVC_CLI_OTHER_PROGRAM", "SVC_CLI_LOST_FOLDER"]);

/** No daemon of this folder answers. */
export const isNoDaemon = (error: unknown): boolean => NO_DAEMON.has(codeOf(error) ?? "");

/** The command, which ends with 3 where no daemon answers. */
export const withExit = (command: Command): Command => ({
  ...command,
  async run(args, options, cli) {
    try {
      await command.run(args, options, cli);
    } catch (error) {
      throw isNoDaemon(error) ? Object.assign(error as Error, { exit: EXIT.noDaemon }) : error;
    }
  },
});

const API = "/api/workflows";

/** Reads something of the workflows from the daemon. */
export const read = async <T>(cli: CliHost, path: string, query: Readonly<Record<string, string | number | undefined>> = {}): Promise<T> => {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== undefined) given.set(key, String(value));
  return (await cli.request("GET", `${API}${path}${given.size === 0 ? "" : `?${given}`}`)) as T;
};

/** Has the daemon do something with a workflow, a run, a task or a draft. */
export const act = async <T>(cli: CliHost, path: string, body: unknown, method: "POST" | "PUT" = "POST"): Promise<T> =>
  (await cli.request(method, `${API}${path}`, body)) as T;

/** An id as a part of a path. */
export const part = (id: string): string => encodeURIComponent(id);

/** Whether somebody means a run, and not a workflow. */
export const isRunId = (id: string): boolean => id.startsWith("run_") || id.startsWith("adhoc-replay-");
