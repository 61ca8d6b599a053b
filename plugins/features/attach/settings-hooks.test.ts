import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { install, uninstall } from "./install.ts";
import { withHooks, withoutHooks } from "./settings-hooks.ts";

const SCRIPT = "/srv/svc/.svc/attach/hook.sh";
const own = (event: string) => `{"type":"command","command":"/usr/bin/${event}"}`;

/** Settings as people have them, the strange ones too. */
const FILES = [
  "{}",
  "{}\n",
  "{ }",
  "{\n}\n",
  '{"model":"opus"}',
  '{\n  "model": "opus"\n}\n',
  '{\r\n\t"model": "opus",\r\n\t"env": { "A":"1" }\r\n}\r\n',
  '{"hooks":{}}',
  '{"hooks": { }, "model": "opus"}',
  '{\n    "hooks": {\n    }\n}',
  '{"hooks":{"Stop":[]}}',
  '{"hooks":{"Stop":[ ],"PreToolUse":[]}}',
  `{"hooks":{"Stop":[{"hooks":[${own("stop")}]}]}}`,
  `{\n  "hooks": {\n    "Stop": [\n      { "hooks": [ ${own("stop")} ] }\n    ]\n  }\n}\n`,
  `{\n\t"hooks": {\n\t\t"SessionStart": [{"matcher":"startup","hooks":[${own("start")}]}],\n\t\t"PreToolUse": [{"matcher":"Bash","hooks":[${own("bash")}]}]\n\t},\n\t"model": "opus"\n}`,
  `{"hooks":{"SessionEnd":[{"hooks":[${own("end")}]},{"hooks":[${own("end2")}]}]}}`,
  '{"permissions":{"allow":["Bash(ls:*)"],"deny":[]},"hooks":{"UserPromptSubmit":[{"hooks":[]}]}}\n\n',
  '\n\n  {"a":[1, 2,\t3]}  ',
  '{"weird":"\\u00e4 } ] , \\" {","hooks":{"Notification":[]}}',
  `{"z":${JSON.stringify("x".repeat(50_000))}}`,
];

describe("the settings", () => {
  it.each(FILES)("get the hooks beside what is there, and lose them without a trace: %s", (before) => {
    const after = withHooks(before, SCRIPT, "settings.json");
    const [old, now] = [JSON.parse(before), JSON.parse(after)];
    for (const event of ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]) {
      const groups = now.hooks[event];
      expect(groups.slice(0, -1)).toEqual(old.hooks?.[event] ?? []);
      expect(groups.at(-1).hooks[0]).toMatchObject({
        type: "command",
        command: expect.stringMatching(/^\/srv\/svc\/\.svc\/attach\/hook\.sh [a-z-]+$/),
        timeout: expect.any(Number),
      });
    }
    expect({ ...now, hooks: undefined }).toEqual({ ...old, hooks: undefined });
    // Once more adds nothing.
    expect(withHooks(after, SCRIPT, "settings.json")).toBe(after);
    const without = JSON.parse(withoutHooks(after, SCRIPT, "settings.json"));
    for (const [event, groups] of Object.entries(old.hooks ?? {}) as [string, unknown[]][]) expect(without.hooks?.[event] ?? []).toEqual(groups);
    expect({ ...without, hooks: undefined }).toEqual({ ...old, hooks: undefined });
  });

  it("keep what was added to them meanwhile, also within our own group", () => {
    const installed = JSON.parse(withHooks("{}", SCRIPT, "settings.json"));
    installed.hooks.Stop[0].hooks.push({ type: "command", command: "/usr/bin/mine" });
    installed.hooks.SessionStart.push({ hooks: [{ type: "command", command: "/usr/bin/later" }] });
    installed.model = "opus";
    expect(JSON.parse(withoutHooks(JSON.stringify(installed, null, 2), SCRIPT, "settings.json"))).toEqual({
      hooks: {
        SessionStart: [{ hooks: [{ type: "command", command: "/usr/bin/later" }] }],
        Stop: [{ hooks: [{ type: "command", command: "/usr/bin/mine" }] }],
      },
      model: "opus",
    });
  });

  it.each(["{ not json", "[]", '"text"', '{"hooks":[]}', '{"hooks":{"Stop":{}}}', '{"disableAllHooks":true}', '{"a":1,}', "// c\n{}"])(
    "are left as they are where they are %s",
    (broken) => {
      expect(() => withHooks(broken, SCRIPT, "settings.json")).toThrow(/settings\.json was left as it is/);
    },
  );

  it("have the script's path as one word, whatever it is made of", () => {
    const odd = "/srv/it's mine/.svc/attach/hook.sh";
    const after = withHooks("{}", odd, "settings.json");
    expect(JSON.parse(after).hooks.Stop[0].hooks[0].command).toBe(`'/srv/it'\\''s mine/.svc/attach/hook.sh' stop`);
    expect(withoutHooks(after, odd, "settings.json")).toBe("{}");
    // Those of another daemon are not ours.
    expect(JSON.parse(withoutHooks(withHooks(after, SCRIPT, "s"), SCRIPT, "s"))).toEqual(JSON.parse(after));
  });
});

describe("svc attach install", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-install-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("and --remove leave the same bytes and the same mode in each of twenty files", async () => {
    for (const [at, before] of FILES.entries()) {
      const settings = join(folder, `settings-${at}.json`);
      writeFileSync(settings, before, { mode: 0o640 });
      const place = { dataFolder: join(folder, `data-${at}`), settings };
      expect(await install(place)).toBe(true);
      expect(readFileSync(`${settings}.bak`, "utf8")).toBe(before);
      expect(await install(place)).toBe(false);
      const script = join(place.dataFolder, "attach/hook.sh");
      expect(statSync(script).mode & 0o777).toBe(0o700);
      expect(await uninstall(place)).toBe(true);
      expect(readFileSync(settings, "utf8")).toBe(before);
      expect(statSync(settings).mode & 0o777).toBe(0o640);
      expect(() => statSync(script)).toThrow(/ENOENT/);
      expect(await uninstall(place)).toBe(false);
    }
    expect(FILES).toHaveLength(20);
  });

  it("keeps the script while other settings call it", async () => {
    const dataFolder = join(folder, "shared");
    const [mine, project] = [join(folder, "mine.json"), join(folder, "project.json")];
    for (const settings of [mine, project]) await install({ dataFolder, settings });
    await uninstall({ dataFolder, settings: project });
    expect(statSync(join(dataFolder, "attach/hook.sh")).mode & 0o111).toBe(0o100);
    await uninstall({ dataFolder, settings: mine });
    expect(() => statSync(join(dataFolder, "attach/hook.sh"))).toThrow(/ENOENT/);
  });

  it("makes a file that is not there, and takes it away again; a link stays one", async () => {
    const place = { dataFolder: join(folder, "data"), settings: join(folder, "deep/down/settings.json") };
    await install(place);
    expect(Object.keys(JSON.parse(readFileSync(place.settings, "utf8")).hooks)).toEqual(["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]);
    await uninstall(place);
    expect(() => statSync(place.settings)).toThrow(/ENOENT/);
    const [real, link] = [join(folder, "real.json"), join(folder, "link.json")];
    writeFileSync(real, '{"model":"opus"}');
    symlinkSync(real, link);
    await install({ ...place, settings: link });
    expect(JSON.parse(readFileSync(real, "utf8"))).toHaveProperty("hooks");
    await uninstall({ ...place, settings: link });
    expect(readFileSync(real, "utf8")).toBe('{"model":"opus"}');
  });
});
