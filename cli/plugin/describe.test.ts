import type { Source } from "@svc/kernel";
import type { Manifest } from "@svc/sdk";
import { expect, it } from "vitest";
import { describeChange, describeDeclared } from "./describe.ts";

const source = (manifest: Partial<Manifest>): Source => ({
  id: "channel-irc",
  entry: "/irc/index.js",
  from: "package",
  manifest: { api: 1, kind: "channel", name: "irc", entry: "./index.js", activate: "section", capabilities: [], ...manifest },
});
const networkOf = (manifest: Partial<Manifest>) => /^ {2}network +(.*)$/m.exec(describeDeclared(source(manifest)))?.[1];

it("AUT-A4 what an operator agrees to names the network, and who guards it", () => {
  expect(networkOf({})).toBe("none of its own");
  expect(networkOf({ capabilities: ["sockets"], network: ["irc.libera.chat:6697", "configured"] })).toBe(
    "guarded connections to irc.libera.chat:6697, the hosts of its section",
  );
  expect(networkOf({ capabilities: ["sockets"] })).toBe("guarded connections to any public host: it names none");
  expect(networkOf({ capabilities: ["network", "sockets"], network: ["*"] })).toBe("connections of its own, unguarded, to any host");
});

it("K2 what an operator agrees to says how far it may change svc.json", () => {
  const changesOf = (capabilities: Manifest["capabilities"]) => /^ {2}changes in svc.json +(.*)$/m.exec(describeDeclared(source({ capabilities })))?.[1];
  expect(changesOf(["store"])).toBeUndefined();
  expect(changesOf(["settings"])).toBe("its own section");
  expect(changesOf(["settings", "all-settings"])).toBe("everything, also other plugins and the daemon itself");
});

it("AUT-A4 a host that a new version adds is shown as one", () => {
  const [before, after] = [["irc.libera.chat"], ["irc.libera.chat", "*.example.org"]].map((network) => source({ capabilities: ["sockets"], network }));
  expect(describeChange(before as Source, after as Source)).toEqual(["network    + *.example.org"]);
});

it("SEC-S7 a manifest's words stay within their line, and cannot push the others off the screen", () => {
  const forged = `x)\u001b[2J${"\n".repeat(60)}feature-clock 1.0.0\n  declares             nothing\r\n  commands             svc clock (${"tells the time ".repeat(400)}`;
  const commands = [{ name: "evil\n", summary: forged, module: "./c.js" }];
  const hostile = source({ capabilities: ["data-folder"], product: forged, section: forged, agentKeys: [forged], registers: [`action ${forged}`], commands });
  const text = describeDeclared({ ...hostile, version: forged });
  expect(text.split("\n").map((line) => line.slice(0, 21).trimEnd())).toEqual([
    "channel-irc x)[2J fea",
    "  section of svc.json",
    "  keys of agents",
    "  declares",
    "  network",
    "  registers",
    "  commands",
    "  runs in",
  ]);
  expect(text.length).toBeLessThan(2_500);
  expect(text).not.toContain("\u001b");
  expect(describeChange(source({}), { ...hostile, version: forged }).every((line) => !/[\n\r\u001b]/.test(line) && line.length < 260)).toBe(true);
});
