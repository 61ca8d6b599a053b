import { type CliHost, svcError } from "@svc/sdk";
import { act, part, read } from "./daemon-call.ts";
import { jsonOr } from "./pairs.ts";
import { problemLine } from "./problem-line.ts";
import type { ShownProblem } from "./shown.ts";
import { watchRun } from "./watch.ts";

/** Verbs of the draft command. */
export const DRAFT_VERBS = ["list", "show", "new", "save", "validate", "promote", "reject", "replay"] as const;

/** Options of `svc workflow draft` beside the verb and the id. */
export interface DraftOptions {
  readonly as?: string;
  readonly reason?: string;
  readonly task?: string;
  readonly input?: string;
  readonly watch?: boolean;
}

interface ShownDraft {
  readonly definition: { readonly id: string; readonly generatedFrom?: string; readonly confidence?: number };
  readonly file: string;
  readonly problems: readonly ShownProblem[];
  readonly updatedAt: string;
}

/** `svc workflow draft <verb> [id]`. */
export async function draftCommand(cli: CliHost, verb: string, id: string | undefined, file: string | undefined, options: DraftOptions): Promise<void> {
  if (verb === "list") return list(cli);
  if (verb === "new") return fromTask(cli, id, options.task);
  if (!(DRAFT_VERBS as readonly string[]).includes(verb)) throw svcError("SVC_CLI_USAGE", `There is no 'draft ${verb}'; there is: ${DRAFT_VERBS.join(", ")}.`);
  if (id === undefined) throw svcError("SVC_CLI_USAGE", `svc workflow draft ${verb} needs the id of a draft; see svc workflow draft list.`);
  const path = `/drafts/${part(id)}`;
  switch (verb) {
    case "show": {
      const draft = await read<Record<string, unknown>>(cli, path);
      return cli.print(JSON.stringify(draft["definition"] ?? draft, undefined, 2), draft);
    }
    case "save":
      return save(cli, id, path, file);
    case "validate": {
      const { ok, problems } = await act<{ ok: boolean; problems: readonly ShownProblem[] }>(cli, `${path}/validate`, {});
      cli.print([...problems.map((problem) => problemLine(id, problem)), `${id} ${ok ? "can be promoted" : "cannot be promoted"}`].join("\n"), {
        ok,
        problems,
      });
      if (!ok) process.exitCode = 1;
      return;
    }
    case "promote": {
      const answer = await act<{ id: string; folds: readonly ShownFold[] }>(cli, `${path}/promote`, options.as === undefined ? {} : { id: options.as });
      return cli.print([`${answer.id} is active`, ...answer.folds.map(foldLine)].join("\n"), answer);
    }
    case "reject": {
      const answer = await act<{ file: string }>(cli, `${path}/reject`, options.reason === undefined ? {} : { reason: options.reason });
      return cli.print(`${id} is rejected; it stands in ${answer.file}`, answer);
    }
    default: {
      const body = {
        ...(options.task === undefined ? {} : { taskId: options.task }),
        ...(options.input === undefined ? {} : { input: jsonOr(options.input) }),
      };
      const answer = await act<{ runId: string; name: string }>(cli, `${path}/replay`, body);
      cli.print(`${answer.runId} replays ${id}; no agent, action or chat is asked`, answer);
      if (options.watch === true) await watchRun(cli, answer.runId);
    }
  }
}

async function list(cli: CliHost): Promise<void> {
  const { drafts } = await read<{ drafts: readonly ShownDraft[] }>(cli, "/drafts");
  const line = ({ definition: { id, generatedFrom, confidence }, problems, updatedAt }: ShownDraft) =>
    [id, generatedFrom ?? "-", confidence === undefined ? "-" : String(confidence), `${problems.length} problems`, updatedAt].join("  ");
  cli.print(drafts.map(line).join("\n") || "There are no drafts.", { drafts });
}

async function fromTask(cli: CliHost, id: string | undefined, taskId: string | undefined): Promise<void> {
  if (taskId === undefined) throw svcError("SVC_CLI_USAGE", "svc workflow draft new needs a recorded task: svc workflow draft new [id] --task <id>.");
  const answer = await act<{ id: string; file: string; problems: readonly ShownProblem[] }>(cli, "/drafts", { taskId, ...(id === undefined ? {} : { id }) });
  cli.print([`${answer.id} is saved as ${answer.file}`, ...answer.problems.map((problem) => problemLine(answer.id, problem))].join("\n"), answer);
}

async function save(cli: CliHost, id: string, path: string, file: string | undefined): Promise<void> {
  if (file === undefined) throw svcError("SVC_CLI_USAGE", "svc workflow draft save needs a file: svc workflow draft save <id> <file>.");
  const { readDefinition } = await import("./check.js");
  const { value, problems } = await readDefinition(file, id);
  if (value === undefined) throw svcError("SVC_CLI_USAGE", problems.map((problem) => problemLine(file, problem)).join("\n"));
  const answer = await act<{ problems: readonly ShownProblem[]; file: string }>(cli, path, value, "PUT");
  cli.print([`${id} is saved as ${answer.file}`, ...answer.problems.map((problem) => problemLine(id, problem))].join("\n"), answer);
}

interface ShownFold {
  readonly runId: string;
  readonly same: boolean;
  readonly firstDifference?: unknown;
}

const foldLine = ({ runId, same, firstDifference }: ShownFold): string =>
  `${runId} ${same ? "would go the same way" : `would go another way: ${JSON.stringify(firstDifference)}`}`;
