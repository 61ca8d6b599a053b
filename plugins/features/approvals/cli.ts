import { type Approval, type ApprovalDecision, type CliHost, type CommandGroup, userName } from "@svc/sdk";
import { howOf } from "./words.ts";

const CHOICE = [{ flags: "--choice <id>", description: "one of the question's own answers, where it has several" }];

const group: CommandGroup = {
  name: "approval",
  summary: "Questions that wait for a person's yes or no",
  commands: [
    {
      name: "list",
      args: "[id]",
      summary: "Open questions; with an id all of that one",
      options: [{ flags: "--all", description: "decided ones of the last 30 days, too" }],
      run: ([id], { all }, cli) => (id === undefined ? list(all === true, cli) : show(id, cli)),
    },
    { name: "approve", args: "<id>", summary: "Say yes", options: CHOICE, run: ([id = ""], { choice }, cli) => decide(id, "approve", choice, cli) },
    { name: "reject", args: "<id>", summary: "Say no", options: CHOICE, run: ([id = ""], { choice }, cli) => decide(id, "reject", choice, cli) },
    {
      name: "later",
      args: "<id>",
      summary: "Be asked again later",
      options: [{ flags: "--hours <n>", description: "hours from now (default: approvals.laterHours)", number: { least: 0.01, most: 720, whole: false } }],
      run: ([id = ""], { hours }, cli) => later(id, hours, cli),
    },
  ],
};
export default group;

async function list(all: boolean, cli: CliHost): Promise<void> {
  const { approvals } = (await cli.request("GET", `/approvals?open=${!all}&limit=1000`)) as { approvals: readonly Approval[] };
  const none = all ? "Nothing was asked in the last 30 days." : "No question is open.";
  cli.print(approvals.map(line).join("\n") || none, approvals);
}

async function show(id: string, cli: CliHost): Promise<void> {
  const { approval } = (await cli.request("GET", `/approvals/${encodeURIComponent(id)}`)) as { approval: Approval };
  const { detail = "", choices } = approval;
  const answers = choices.map((choice) => `  ${choice.id.padEnd(16)} ${choice.label}${choice.rejects ? " (a no)" : ""}`).join("\n");
  cli.print([line(approval), detail, approval.state === "open" ? `answers:\n${answers}` : ""].filter((part) => part !== "").join("\n\n"), approval);
}

async function decide(id: string, how: "approve" | "reject", choice: unknown, cli: CliHost): Promise<void> {
  const body = { by: userName(), ...(choice === undefined ? {} : { choice: String(choice) }) };
  const { decision } = (await cli.request("POST", `/approvals/${encodeURIComponent(id)}/${how}`, body)) as { decision: ApprovalDecision };
  cli.print(`Question ${id} is ${decision.state}.`, decision);
}

async function later(id: string, hours: unknown, cli: CliHost): Promise<void> {
  const body = { by: userName(), ...(hours === undefined ? {} : { hours: Number(hours) }) };
  const { approval } = (await cli.request("POST", `/approvals/${encodeURIComponent(id)}/later`, body)) as { approval: Approval };
  cli.print(`Question ${id} is asked again ${new Date(approval.laterAt ?? 0).toISOString()}.`, approval);
}

function line(approval: Approval): string {
  const { id, kind, title, requestedBy, expiresAt, laterAt, state } = approval;
  const until = `until ${new Date(expiresAt).toISOString()}${laterAt === undefined ? "" : `, put off until ${new Date(laterAt).toISOString()}`}`;
  return [id, kind, title, `asked by ${requestedBy}`, state === "open" ? until : howOf(approval)].join("  ");
}
