import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ObjectSchema } from "@svc/sdk";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { formatPath } from "../base/config-path.ts";
import { checkDocument } from "../core/config/check.ts";
import { composeSchema } from "../core/config/compose.ts";
import { openDocument } from "../core/config/document.ts";
import { getValue, removeValue, setValue } from "./edit.ts";
import { saveDocument } from "./save.ts";
import { defaultAt, keysAt } from "./setting-schema.ts";

const NOTIFY: ObjectSchema = {
  type: "object",
  properties: {
    chatId: { type: "string" },
    onError: { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] },
    labels: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
  },
};
const composed = composeSchema({
  sections: [
    { at: "notifications", schema: NOTIFY, owner: "feature-notifications" },
    {
      at: "providers",
      schema: { type: "object", additionalProperties: { type: "object", properties: { apiKey: { type: "string", secret: true } } } },
      owner: "feature-providers",
    },
  ],
  agentKeys: [{ owner: "feature-servers", schema: { type: "object", properties: { mcp: { type: "object" } } } }],
  tiers: ["cli-a"],
  defaultTier: "cli-a",
});

const TEXT = `{
  "node": {"id": "n1",   "name": "\${NODE_NAME}"},

  "agents": {
    "a": { "name": "A", "workspace": "." },
    "b": {
      "workspace":   "./b",
      "name": "B"
    }
  },
  "voice": { "kept": [1,2,   3] }
}
`;
const set = (path: string, value: string, text = TEXT) => setValue(text, path, value, composed).text;
const code = (run: () => unknown): unknown => {
  try {
    run();
  } catch (error) {
    return (error as { code: string }).code;
  }
  return undefined;
};

describe("setValue", () => {
  it("CFG-05 CFG-06 touches only the key: references, order, spacing and unknown sections stay, no default is written", () => {
    expect(set("node.id", "n2")).toBe(TEXT.replace('"n1"', '"n2"'));
    expect(set("agents.a.maxConcurrent", "2")).toBe(TEXT.replace('"workspace": "." }', '"workspace": ".", "maxConcurrent": 2 }'));
    expect(set("agents.b.maxConcurrent", "2")).toBe(TEXT.replace('"name": "B"\n', '"name": "B",\n      "maxConcurrent": 2\n'));
    expect(set("session.staleMinutes", "60")).toBe(TEXT.replace("3] }\n", '3] },\n  "session": {\n    "staleMinutes": 60\n  }\n'));
    expect(set("plugins", '["x"]')).toBe(TEXT.replace("3] }\n", '3] },\n  "plugins": [\n    "x"\n  ]\n'));
  });

  it("keeps tabs, carriage returns and one-line files", () => {
    expect(set("session.staleMinutes", "60", '{\r\n\t"node": {}\r\n}')).toBe('{\r\n\t"node": {},\r\n\t"session": {\r\n\t\t"staleMinutes": 60\r\n\t}\r\n}');
    expect(set("session.staleMinutes", "60", '{"node":{}}')).toBe('{"node":{}, "session": {"staleMinutes":60}}');
    expect(set("node.id", "x", '{"node":{}}')).toBe('{"node":{"id": "x"}}');
    expect(set("node.id", "x", '{\n  "node": {}\n}')).toBe('{\n  "node": {\n    "id": "x"\n  }\n}');
  });

  it("CFG-21 the schema of the path decides the type", () => {
    const typed = (path: string, value: string) => setValue(TEXT, path, value, composed).after;
    expect(typed("notifications.chatId", "-100123")).toBe("-100123");
    expect(typed("agents.a.maxConcurrent", "2")).toBe(2);
    expect(typed("agents.a.model", "true")).toBe("true");
    expect(typed("agents.a.admin", "true")).toBe(true);
    expect(typed("agents.a.mentions", '["x", "y"]')).toEqual(["x", "y"]);
    expect(typed("agents.a.mcp", '{"s": {"command": "c"}}')).toEqual({ s: { command: "c" } });
    expect(typed("notifications.onError", "log")).toBe("log");
    expect(typed("notifications.onError", '["log"]')).toEqual(["log"]);
    expect(typed("voice.anything.below", "5")).toBe(5);
    expect(typed("agents.a.systemPrompt", "{not json")).toBe("{not json");
    expect(typed("providers.main.apiKey", "${KEY}")).toBe("${KEY}");
  });

  it("CFG-21 a value of the wrong type is refused", () => {
    for (const [path, value] of [
      ["agents.a.maxConcurrent", "two"],
      ["agents.a.maxConcurrent", "0x2"],
      ["agents.a.maxConcurrent", "1e999"],
      ["agents.a.maxConcurrent", ""],
      ["agents.a.admin", "yes"],
      ["agents.a.mentions", "x"],
      ["agents.a.mentions", '["x"'],
      ["agents.a.mcp", "[1"],
    ] as const) {
      expect([path, value, code(() => set(path, value))]).toEqual([path, value, "SVC_CONFIG_VALUE"]);
    }
  });

  it("refuses what is no setting, and says what was meant", () => {
    expect(() => set("agents.a.maxConcurent", "2")).toThrow("did you mean 'maxConcurrent'?");
    for (const path of ["nod.id", "session.x.y", "dashboard.port", "node.id.deeper"]) expect(code(() => set(path, "1"))).toBe("SVC_CONFIG_PATH");
    for (const path of ["", ".", "a..b", "a.", ".a", "a[", 'a["b"]c', "a]"]) expect([path, code(() => set(path, "1"))]).toEqual([path, "SVC_CONFIG_PATH"]);
  });

  it.each(["__proto__.x", "constructor.prototype.x", "agents.__proto__.name", 'agents["__proto__"].name', "voice.constructor"])(
    "FAULT-57 refuses %s",
    (path) => {
      expect(code(() => set(path, "1"))).toBe("SVC_CONFIG_KEY");
      expect(code(() => getValue({}, path))).toBe("SVC_CONFIG_KEY");
      expect(code(() => removeValue(TEXT, path))).toBe("SVC_CONFIG_KEY");
      expect(({} as Record<string, unknown>).x).toBeUndefined();
    },
  );

  it("FAULT-57 refuses the forbidden names inside a value, too", () => {
    expect(code(() => set("voice.v", '{"__proto__": {"x": 1}}'))).toBe("SVC_CONFIG_KEY");
    expect(({} as Record<string, unknown>).x).toBeUndefined();
  });

  it("walks into lists, by either form, and adds the next entry", () => {
    const text = '{"notifications": {"labels": [{"name": "a"}]}}';
    expect(set("notifications.labels[0].name", "b", text)).toBe('{"notifications": {"labels": [{"name": "b"}]}}');
    expect(set("notifications.labels.0.name", "b", text)).toBe('{"notifications": {"labels": [{"name": "b"}]}}');
    expect(set("notifications.labels.1.name", "b", text)).toBe('{"notifications": {"labels": [{"name": "a"}, {"name":"b"}]}}');
    expect(code(() => set("notifications.labels.5.name", "b", text))).toBe("SVC_CONFIG_VALUE");
    expect(set("notifications.labels.0.name", "b", "{}")).toBe('{"notifications": {"labels":[{"name":"b"}]}}');
    expect(code(() => set("notifications.labels.1.name", "b", "{}"))).toBe("SVC_CONFIG_VALUE");
  });

  it("switches on a plugin that is not loaded, whose schema nobody knows yet", () => {
    const asleep = composeSchema({ sections: [], agentKeys: [], tiers: [], dormant: [{ at: "channels.push", owner: "channel-push" }] });
    expect(setValue("{}", "channels.push.enabled", "true", asleep).text).toBe('{"channels": {"push":{"enabled":true}}}');
    expect(setValue("{}", "channels.push.chat", '"-100"', asleep).after).toBe("-100");
    expect(code(() => setValue("{}", "channels.posh.enabled", "true", asleep))).toBe("SVC_CONFIG_PATH");
  });

  it("what was set is what is read, and everything else is as before", () => {
    const forbidden = /__proto__|constructor|prototype/;
    const name = fc.string().filter((text) => !forbidden.test(text));
    const content = fc.oneof(fc.string(), fc.constantFrom('"', "\\", "\n", "${X}", "é\u2028"));
    const json = fc.jsonValue({ maxDepth: 2 }).filter((value) => !forbidden.test(JSON.stringify(value)));
    fc.assert(
      fc.property(fc.dictionary(name, json), name, content, fc.constantFrom(undefined, 2, "\t"), (voice, key, value, indent) => {
        const text = JSON.stringify({ node: { id: "n" }, providers: { p: {} }, voice }, null, indent);
        const path = formatPath(["providers", key, "apiKey"]);
        const edit = setValue(text, path, value, composed);
        const rest = { node: { id: "n" }, voice: JSON.parse(JSON.stringify(voice)) };
        expect(JSON.parse(edit.text)).toEqual({ ...rest, providers: { p: {}, [key]: { apiKey: value } } });
        expect(JSON.parse(removeValue(edit.text, path).text)).toEqual({ ...rest, providers: { p: {}, [key]: {} } });
      }),
    );
  });
});

describe("removeValue", () => {
  it("takes out the key and nothing else", () => {
    expect(removeValue(TEXT, "node.id").text).toBe(TEXT.replace('"id": "n1",   ', ""));
    expect(removeValue(TEXT, "agents.b.name").text).toBe(TEXT.replace(',\n      "name": "B"', ""));
    expect(removeValue(TEXT, "voice.kept").text).toBe(TEXT.replace('{ "kept": [1,2,   3] }', "{}"));
    expect(removeValue(TEXT, "voice.kept[1]").text).toBe(TEXT.replace("[1,2,   3]", "[1,   3]"));
    expect(removeValue(TEXT, "agents.c.name")).toMatchObject({ text: TEXT, before: undefined });
  });
});

describe("lookups", () => {
  it("CFG-01 a path's default is in the schema, for values that are not written out", () => {
    expect(defaultAt(composed.root, ["session", "staleMinutes"])).toBe(720);
    expect(defaultAt(composed.root, ["agents", "any", "maxExecutionMinutes"])).toBe(20);
    expect(defaultAt(composed.root, ["agents", "any", "model"])).toBeUndefined();
  });

  it("offers the keys that may follow", () => {
    expect(keysAt(composed.root, ["processPool"]).map(({ key }) => key)).toEqual(["maxIdleSeconds", "maxAgeSeconds", "sweepIntervalSeconds"]);
    expect(keysAt(composed.root, []).map(({ key }) => key)).toContain("notifications");
    expect(keysAt(composed.root, ["nothing"])).toEqual([]);
  });

  it("reads own values only", () => {
    expect(getValue({ a: { b: [1, { c: 2 }] } }, "a.b[1].c")).toBe(2);
    expect(getValue({ a: { b: [1, { c: 2 }] } }, "a.b.1.c")).toBe(2);
    expect(getValue({ a: "text" }, "a.length")).toBeUndefined();
    expect(getValue({}, "toString")).toBeUndefined();
  });
});

describe("saveDocument", () => {
  let folder = "";
  let file = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-save-"));
    file = join(folder, "svc.json");
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const backups = () => readdirSync(folder).filter((name) => name.startsWith("svc.json.bak."));

  it("CFG-05 CFG-08 saves without the expanded secret and without a backup of its own", async () => {
    writeFileSync(file, TEXT);
    const document = openDocument({ file }, { NODE_NAME: "the-expanded-name" });
    const edit = setValue(document.text ?? "", "agents.a.name", "Anna", composed);
    expect(checkDocument(openDocument({ file, text: edit.text }, { NODE_NAME: "the-expanded-name" }), composed).problems).toEqual([]);
    await saveDocument(file, edit.text, { expect: document.text ?? "" });
    expect(readFileSync(file, "utf8")).toBe(TEXT.replace('"A"', '"Anna"'));
    expect(readdirSync(folder)).toEqual(["svc.json"]);
  });

  it("CFG-08 two saves at once leave two copies of what was there, references intact", async () => {
    writeFileSync(file, TEXT);
    await saveDocument(file, "{}", { backup: true });
    await saveDocument(file, '{"a": 1}', { backup: true });
    const kept = backups().map((name) => readFileSync(join(folder, name), "utf8"));
    expect(new Set(kept)).toEqual(new Set([TEXT, "{}"]));
    await Promise.all([saveDocument(file, "{}", { backup: true }), saveDocument(file, "{}", { backup: true })]);
    expect(backups()).toHaveLength(4);
  });

  it("CFG-07 a file changed meanwhile is left as it is, without a backup", async () => {
    writeFileSync(file, '{"by": "someone"}');
    const before = backups().length;
    await expect(saveDocument(file, "{}", { expect: TEXT, backup: true })).rejects.toMatchObject({ code: "SVC_CONFIG_CHANGED", status: 409 });
    expect(readFileSync(file, "utf8")).toBe('{"by": "someone"}');
    expect(backups()).toHaveLength(before);
  });

  it("CFG-21 an invalid result is seen before anything is written", () => {
    writeFileSync(file, TEXT);
    const edit = setValue(TEXT, "agents.a.maxExecutionMinutes", "241", composed);
    const { problems } = checkDocument(openDocument({ file, text: edit.text }, { NODE_NAME: "x" }), composed);
    expect(problems).toMatchObject([{ path: "agents.a.maxExecutionMinutes", line: 5, message: "must be from 1 to 240, is 241" }]);
    expect(readFileSync(file, "utf8")).toBe(TEXT);
  });

  it("keeps the mode, makes a new file private, and writes through a link", async () => {
    chmodSync(file, 0o640);
    await saveDocument(file, "{}");
    expect(statSync(file).mode & 0o777).toBe(0o640);
    const fresh = join(folder, "fresh.json");
    await saveDocument(fresh, "{}");
    expect(statSync(fresh).mode & 0o777).toBe(0o600);
    const link = join(folder, "link.json");
    symlinkSync(fresh, link);
    await saveDocument(link, '{"through": 1}');
    expect(readFileSync(fresh, "utf8")).toBe('{"through": 1}');
  });
});
