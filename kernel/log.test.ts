import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { createLog, scrub } from "./log.ts";

const CANARY = 'canary"secret/1234567';

function capture(secrets: string[] = [CANARY], pretty = false) {
  let text = "";
  const destination = new Writable({
    write(chunk, _encoding, done) {
      text += chunk;
      done();
    },
  });
  return { log: createLog({ level: "debug", destination, pretty, secrets: () => secrets }), text: () => text };
}

describe("the log", () => {
  it("FAULT-59 no known secret leaves in headers, URLs, nested keys, free text, errors and their causes", () => {
    const { log, text } = capture();
    log.info({ headers: { authorization: `Bearer ${CANARY}`, cookie: CANARY } }, "request");
    log.info({ url: `http://x/?token=${encodeURIComponent(CANARY)}&a=1` }, "url");
    log.info({ a: { b: { c: { d: { e: CANARY } } } } }, "nested");
    log.warn(`free text with ${CANARY} inside`);
    log.error({ err: new Error(`failed with ${CANARY}`, { cause: new Error(CANARY) }) }, "error");
    log.child("channel-x").error(new Error(CANARY));
    expect(text().split("\n").filter(Boolean)).toHaveLength(6);
    expect(text()).not.toContain("canary");
    expect(text()).toContain("a=1");
  });

  it("FAULT-59 anything of a token's shape goes, known or not", () => {
    const { log, text } = capture([]);
    log.info("svc_live_0123456789abcdef and Authorization: Bearer abc.def-ghi and http://x/?access_token=zzz&ok=1");
    log.info({ apiKey: "sk-unknown", nested: { token: "unknown-token" } }, "keys");
    for (const leak of ["0123456789abcdef", "abc.def-ghi", "zzz", "sk-unknown", "unknown-token"]) expect(text()).not.toContain(leak);
    expect(text()).toContain("ok=1");
  });

  it("a short secret is not replaced in every word, and an empty one nowhere", () => {
    expect(scrub("a plain line", ["a", ""])).toBe("a plain line");
  });

  it("FAULT-60 line breaks and escape codes of foreign text stay inside their line", () => {
    const json = capture();
    json.log.info({ header: 'x\n{"level":50}\u001b[31m' }, "fake\nline");
    expect(json.text().trim().split("\n")).toHaveLength(1);
    expect(json.text()).not.toContain("\u001b");
    const people = capture([], true);
    people.log.info("fake\nline\u001b[31m");
    expect(people.text().trim().split("\n")).toHaveLength(1);
    expect(people.text()).not.toContain("\u001b");
  });

  it("names the plugin that speaks", () => {
    const { log, text } = capture();
    log.child("tier-local").warn("slow");
    expect(JSON.parse(text())).toMatchObject({ plugin: "tier-local", msg: "slow", level: 40 });
  });
});
