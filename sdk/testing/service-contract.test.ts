import { describe, expect, it } from "vitest";
import { type ServiceSubject, serviceContract } from "./service-contract.ts";

interface Notes {
  add(text: string): Promise<number>;
  next(): Promise<string>;
}

function subject(changed: Partial<Notes> = {}, name = "acme.notes"): ServiceSubject<Notes> {
  const notes: string[] = [];
  const ended = new AbortController();
  const api: Notes = {
    async add(text) {
      if (text === "") throw Object.assign(new Error("nothing to note"), { code: "ACME_EMPTY" });
      return notes.push(text);
    },
    next: () => new Promise((_, reject) => ended.signal.addEventListener("abort", () => reject(new Error("ended")))),
    ...changed,
  };
  return {
    name,
    api,
    works: [{ name: "adds", call: (service) => service.add("one"), check: (count) => expect(count).toBeGreaterThan(0) }],
    refuses: [{ name: "adds nothing", call: (service) => service.add("") }],
    waits: [{ name: "waits for a note", call: (service) => service.next() }],
    end: async () => ended.abort(),
  };
}

serviceContract({ describe, it }, () => subject());

async function failures(made: () => ServiceSubject<Notes>): Promise<string[]> {
  const tests: [string, () => Promise<void>][] = [];
  serviceContract({ describe: (_, define) => define(), it: (name, run) => void tests.push([name, run]) }, made);
  const failed: string[] = [];
  for (const [name, run] of tests) await run().catch(() => failed.push(name));
  return failed;
}

describe("the service contract catches", () => {
  it.each<[string, () => ServiceSubject<Notes>, RegExp]>([
    ["a name with blanks", () => subject({}, "Acme notes"), /under a name/],
    ["an answer that is wrong", () => subject({ add: async () => 0 }), /answers every call/],
    ["an answer that is right only once", () => ((count) => subject({ add: async () => (count -= 1) }))(2), /again in the same way/],
    ["a refusal without a code", () => subject({ add: async (text) => (text === "" ? Promise.reject(new Error("no")) : 1) }), /has a code/],
    ["what should have been refused", () => subject({ add: async () => 1 }), /has a code/],
  ])("%s", async (_what, made, name) => {
    expect(await failures(made)).toContainEqual(expect.stringMatching(name));
  });
});
