import { firstParty } from "../catalog.ts";
import { changeFile, changePath, describeVerdict, openFile } from "../change.ts";
import type { Cli } from "../cli.ts";
import { fail } from "../errors.ts";
import { EXIT } from "../exit.ts";
import type { OwnGroup } from "../group.ts";
import { offlineCode } from "../kernel-code.ts";
import { knownSettings, SCHEMA_REFERENCE, schemaForEditors, writeSchema } from "../schema-file.ts";
import { table } from "../table.ts";

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
        if (value === undefined) editor.requireSetting(path as string);
        cli.print(typeof value === "string" ? value : value === undefined ? "" : JSON.stringify(value, null, 2), value ?? null);
        if (value !== undefined) return;
        cli.say(`${path} is not set and has no default.`);
        process.exitCode = EXIT.failed;
      },
    },
    {
      name: "set",
      args: "<path> <value>",
      summary: "Change one value; its type follows from the path, objects and lists are given as JSON",
      async run([path, value], _options, cli) {
        const verdict = await changePath(cli, path as string, (editor) => editor.set(path as string, value as string));
        cli.print(`${path} is set. ${describeVerdict(verdict)}`, { path, ...verdict });
      },
    },
    {
      name: "unset",
      args: "<path>",
      summary: "Take a value out, so that its default counts",
      async run([path], _options, cli) {
        let there = true;
        const verdict = await changePath(cli, path as string, (editor) => {
          there = editor.remove(path as string);
          if (!there) editor.requireSetting(path as string);
        });
        if (!there) cli.print(`${path} was not set; nothing was changed.`, { path, ...verdict, changed: false });
        else cli.print(`${path} is unset. ${describeVerdict(verdict)}`, { path, ...verdict });
      },
    },
    {
      name: "describe",
      args: "[path]",
      summary: "What a setting means, its type, default and range, and the keys below it; without a path: all sections",
      run: ([path = ""], _options, cli) => describe(path, cli),
    },
    {
      name: "schema",
      args: "",
      summary: "The JSON schema of svc.json, for editors",
      options: [{ flags: "--write", description: "keep it in .svc/svc.schema.json and name it in svc.json, where editors find it" }],
      run: (_args, options, cli) => schema(options.write === true, cli),
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

async function describe(path: string, cli: Cli): Promise<void> {
  const { describeSetting } = offlineCode();
  const { setting, suggestion } = describeSetting(await knownSettings(cli), path);
  if (setting === undefined) {
    const near = suggestion === undefined ? "" : `; did you mean ${suggestion}?`;
    throw fail("SVC_CLI_MISSING", { what: `setting ${path}${near}`, next: "svc config describe" });
  }
  const facts = [
    ...(setting.type === undefined ? [] : [["type", setting.type]]),
    ...(setting.default === undefined ? [] : [["default", JSON.stringify(setting.default)]]),
    ...(setting.allowed === undefined ? [] : [["allowed", setting.allowed]]),
    ...(setting.secret ? [["credential", "name an environment variable: ${NAME}"]] : []),
    ...(setting.restart ? [["restart", "a change waits for a restart"]] : []),
  ];
  const keys = setting.keys.map(({ key, description = "" }) => [`  ${key}`, description]);
  const head = [setting.path, setting.description].filter((part) => part !== undefined && part !== "").join(": ");
  cli.print([head, facts.length === 0 ? "" : table(facts), keys.length === 0 ? "" : table(keys)].filter((part) => part !== "").join("\n"), setting);
}

async function schema(write: boolean, cli: Cli): Promise<void> {
  if (!write) {
    const value = await schemaForEditors(cli);
    cli.print(JSON.stringify(value, null, 2), value);
    return;
  }
  const file = await writeSchema(cli);
  await changeFile(cli, (editor) => {
    if (editor.get("$schema") === undefined) editor.set("$schema", SCHEMA_REFERENCE);
  });
  cli.print(`The schema is in ${file}, and ${cli.file} names it. Write it again after an upgrade or a new plugin.`, { file });
}

/** Number of problems shown; the others appear once these are fixed. */
const TOLD = 20;

async function check(cli: Cli): Promise<void> {
  const { checkConfiguration, describeProblem } = offlineCode();
  const { problems, plugins } = await checkConfiguration({
    file: cli.file,
    dataFolder: cli.dataFolder,
    known: firstParty().map(({ folder }) => folder),
    env: process.env,
  });
  const errors = problems.filter(({ severity }) => severity === "error");
  const failed = plugins.filter(({ state }) => state === "failed");
  const lines = [
    ...problems.slice(0, TOLD).map((problem) => `${problem.severity}: ${cli.file}:${describeProblem(problem)}`),
    ...(problems.length > TOLD ? [`... and ${problems.length - TOLD} more; --json lists all`] : []),
    ...failed.filter(({ id }) => !errors.some(({ owner }) => owner === id)).map(({ id, reason }) => `error: plugin ${id}: ${reason}`),
    errors.length + failed.length === 0 ? `${cli.file} is valid.` : `${cli.file} is not valid.`,
  ];
  cli.print(lines.join("\n"), { valid: errors.length + failed.length === 0, problems, plugins: failed });
  if (errors.length + failed.length > 0) process.exitCode = EXIT.config;
}
