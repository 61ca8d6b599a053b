import type { CommandGroup } from "@svc/sdk";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Cli } from "./cli.ts";
import type { OwnGroup } from "./group.ts";
import { GROUPS } from "./groups.ts";
import { groupCommand } from "./program.ts";
import { simpleLine } from "./simple-line.ts";

const groups = await Promise.all(GROUPS.map(async (entry) => (await entry.load()) as CommandGroup as OwnGroup));

/** What commander makes of the words: the command's name, its arguments and options. */
async function parsed(group: OwnGroup, words: readonly string[]): Promise<unknown> {
  let seen: unknown = "refused";
  const recording: OwnGroup = {
    ...group,
    commands: group.commands.map((command) => ({ ...command, run: async (args, options) => void (seen = { command: command.name, args, options }) })),
  };
  await groupCommand(recording, () => ({}) as Cli, true)
    .parseAsync([...words], { from: "user" })
    .catch(() => {});
  return seen;
}

const words = (group: OwnGroup) => {
  const flags = group.commands.flatMap(({ options = [] }) => options.map(({ flags }) => flags));
  const switches = [...flags, ...flags.map((flag) => flag.split(" ")[0] as string), "--json", "--help", "-h", "--config", "--", "-", "-1", "--js"];
  const name = fc.constantFrom(...group.commands.map((command) => command.name), "listt", "");
  return fc
    .tuple(name, fc.array(fc.oneof(fc.constantFrom(...switches), fc.constantFrom("x", "y", "")), { maxLength: 3 }))
    .map(([first, rest]) => [first, ...rest]);
};

it.each(groups.map((group) => [group.name, group] as const))("svc %s: what it reads, the full parser reads alike", async (_, group) => {
  for (const { name } of group.commands) {
    const simple = simpleLine(group, group.commands.length === 1 && name === group.name ? [] : [name]);
    if (simple !== undefined) expect(simple.command.name).toBe(name);
  }
  await fc.assert(
    fc.asyncProperty(words(group), async (line) => {
      const simple = simpleLine(group, line);
      if (simple === undefined) return;
      expect(await parsed(group, line), line.join(" ")).toEqual({ command: simple.command.name, args: simple.args, options: simple.options });
    }),
    { numRuns: 200 },
  );
});

it("reads what is asked most often, and leaves values, help and mistakes to the full parser", () => {
  const agent = groups.find(({ name }) => name === "agent") as OwnGroup;
  const daemon = groups.find(({ name }) => name === "daemon") as OwnGroup;
  expect(simpleLine(agent, ["list", "--json"])).toMatchObject({ command: { name: "list" }, args: [], options: { json: true } });
  expect(simpleLine(daemon, ["start", "--foreground"])).toMatchObject({ command: { name: "start" }, options: { foreground: true, watchdog: true } });
  for (const line of [["list", "--help"], ["list", "x"], ["lst"], ["add", "a", "--name", "A"], ["--json", "list"], []])
    expect(simpleLine(agent, line)).toBeUndefined();
});
