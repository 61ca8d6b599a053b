import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { createLog, createScrubber, forPeople } from "./log.ts";

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
    log.info(`Basic ${Buffer.from("ada:canary-word").toString("base64")} but basic settings stay`);
    log.info("svc_live_0123456789abcdef and Authorization: Bearer abc.def-ghi and http://x/?access_token=zzz&ok=1");
    log.info({ apiKey: "sk-unknown", nested: { token: "unknown-token" } }, "keys");
    expect(text()).toContain("basic settings stay");
    for (const leak of [Buffer.from("ada:canary").toString("base64").slice(0, 10), "0123456789abcdef", "abc.def-ghi", "zzz", "sk-unknown", "unknown-token"])
      expect(text()).not.toContain(leak);
    expect(text()).toContain("ok=1");
  });

  it("FAULT-59 a secret that begins another leaves no rest of it, and one inside JSON inside a string goes, too", () => {
    const { log, text } = capture(["prefix-key", "prefix-key-long", CANARY]);
    log.info("one prefix-key-long two");
    log.info({ body: JSON.stringify({ text: CANARY, inner: JSON.stringify({ accessToken: "unknown-value", deep: CANARY }) }) }, "body");
    log.info({ a: { b: { c: { d: { "X-Api-Key": "deep-value", cookies: 3, cookie: ["one-value", "two-value"] } } } } }, "deep");
    expect(text()).toContain("one *** two");
    for (const leak of ["long", "canary", "1234567", "unknown-value", "deep-value", "one-value", "two-value"]) expect(text()).not.toContain(leak);
    expect(text()).toContain('"cookies":3');
    for (const line of text().trim().split("\n")) expect(() => JSON.parse(line)).not.toThrow();
  });

  it("FAULT-59 asks for the secrets again when a reload has changed them", () => {
    let secrets = ["first-secret"];
    const scrub = createScrubber(() => secrets);
    expect(scrub("first-secret second-secret")).toBe("*** second-secret");
    secrets = ["second-secret"];
    expect(scrub("first-secret second-secret")).toBe("first-secret ***");
  });

  it("a short secret is not replaced in every word, and an empty one nowhere", () => {
    expect(createScrubber(() => ["a", ""])("a plain line")).toBe("a plain line");
  });

  it("an error that is its own cause is written and ends", () => {
    const { log, text } = capture();
    const ring = new Error("ring");
    ring.cause = ring;
    log.error(ring);
    expect(JSON.parse(text())).toMatchObject({ level: 50, err: { message: "ring", cause: { message: "ring" } } });
  });

  it("FAULT-60 line breaks and escape codes of foreign text stay inside their line", () => {
    const json = capture();
    json.log.info({ header: 'x\n{"level":50}\u001b[31m\u009b31m\u007f' }, "fake\nline");
    expect(json.text().trim().split("\n")).toHaveLength(1);
    expect(json.text().trim()).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/);
    expect(JSON.parse(json.text()).header).toContain("\u009b");
    const people = capture([], true);
    people.log.info({ agent: "a\u009b", count: 2 }, "fake\nline\u001b[31m");
    expect(people.text()).toMatch(/^\d\d:\d\d:\d\d info {2}fake line \[31m agent=a {2}count=2\n$/);
  });

  it.each(["null", "5", '"words"', "no JSON"])("a line that a program has printed by itself stays as it is: %s", (line) => {
    expect(forPeople(line)).toBe(`${line}\n`);
  });

  it("names the plugin that speaks", () => {
    const { log, text } = capture();
    log.child("tier-local").warn("slow");
    expect(JSON.parse(text())).toMatchObject({ plugin: "tier-local", msg: "slow", level: 40 });
  });
});
