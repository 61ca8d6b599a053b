import { applyChange, describeVerdict, openFile } from "../change.ts";
import type { Cli } from "../cli.ts";
import { EXIT } from "../exit.ts";
import type { OwnGroup } from "../group.ts";

const group: OwnGroup = {
  name: "config",
  summary: "Check, read and change the configuration",
  commands: [
    { name: "check", args: "", summary: "Is the configuration valid? Names path, line and column of what is not", run: (_args, _options, cli) => check(cli) },
    {
      name: "get",
      args: "<path>",
      summary: "The effective value at a path, defaults included",
      options: [{ flags: "--reveal", description: "print secrets as they are" }],
      async run([path], options, cli) {
        const editor = await openFile(cli);
        const value = editor.get(path as string, options.reveal === true);
        cli.print(typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value, null, 2), value ?? null);
        if (value === undefined) process.exitCode = EXIT.failed;
      },
    },
    {
      name: "set",
      args: "<path> <value>",
      summary: "Change one value; its type follows from the path, objects and lists are given as JSON",
      async run([path, value], _options, cli) {
        const editor = await openFile(cli);
        editor.set(path as string, value as string);
        const verdict = await applyChange(cli, editor);
        cli.print(`${path} is set. ${describeVerdict(verdict)}`, { path, ...verdict });
      },
    },
    {
      name: "unset",
      args: "<path>",
      summary: "Take a value out, so that its default counts",
      async run([path], _options, cli) {
        const editor = await openFile(cli);
        editor.remove(path as string);
        const verdict = await applyChange(cli, editor);
        cli.print(`${path} is unset. ${describeVerdict(verdict)}`, { path, ...verdict });
      },
    },
    {
      name: "show",
      args: "",
      summary: "All effective values; secrets are masked",
      options: [{ flags: "--reveal", description: "print secrets as they are; take care where this goes" }],
      async run(_args, options, cli) {
        const editor = await openFile(cli);
        const value = editor.show(options.reveal === true);
        cli.print(JSON.stringify(value, null, 2), value);
      },
    },
  ],
};

export default group;

async function check(cli: Cli): Promise<void> {
  const { checkConfiguration, describeProblem } = await import("@svc/kernel");
  const { firstParty } = await import("../catalog.js");
  const { problems, plugins } = await checkConfiguration({
    file: cli.file,
    dataFolder: cli.dataFolder,
    known: firstParty().map(({ folder }) => folder),
    env: process.env,
  });
  const errors = problems.filter(({ severity }) => severity === "error");
  const failed = plugins.filter(({ state }) => state === "failed");
  const lines = [
    ...problems.map((problem) => `${problem.severity}: ${cli.file}:${describeProblem(problem)}`),
    ...failed.filter(({ id }) => !errors.some(({ owner }) => owner === id)).map(({ id, reason }) => `error: plugin ${id}: ${reason}`),
    errors.length + failed.length === 0 ? `${cli.file} is valid.` : `${cli.file} is not valid.`,
  ];
  cli.print(lines.join("\n"), { valid: errors.length + failed.length === 0, problems, plugins });
  if (errors.length + failed.length > 0) process.exitCode = EXIT.config;
}
