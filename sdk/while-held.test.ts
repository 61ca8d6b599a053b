import { describe, expect, it } from "vitest";
import type { Lease } from "./store.ts";
import { onAbort } from "./time.ts";
import { standbyNote, whileHeld } from "./while-held.ts";

/** A store that grants what the test says, one answer a question. */
function leases(...answers: readonly ("held" | "n2" | "n3" | "away")[]) {
  const given: { readonly cut: AbortController; released: boolean }[] = [];
  const asked: string[] = [];
  return {
    given,
    asked,
    lease: async (name: string): Promise<Lease> => {
      const answer = answers[asked.length] ?? "held";
      asked.push(name);
      if (answer === "away") throw new Error("the database does not answer");
      const one = { cut: new AbortController(), released: false };
      given.push(one);
      if (answer !== "held") one.cut.abort();
      return {
        held: answer === "held",
        ...(answer === "held" ? {} : { holder: answer }),
        signal: one.cut.signal,
        release: async () => {
          one.released = true;
        },
      };
    },
  };
}

const ended = (signal: AbortSignal) => new Promise<void>((resolve) => onAbort(signal, () => resolve()));

describe("whileHeld", () => {
  it("begins at once where the lease is granted, ends with its signal, and gives the lease back afterwards", async () => {
    const store = leases();
    const cut = new AbortController();
    const seen: string[] = [];
    const done = whileHeld(store, "poll", { signal: cut.signal }, async (signal) => {
      seen.push("began");
      await ended(signal);
      seen.push(store.given[0]?.released === true ? "too early" : "ended");
    });
    await Promise.resolve();
    await Promise.resolve();
    expect(seen).toEqual(["began"]);
    cut.abort();
    await done;
    expect(seen).toEqual(["began", "ended"]);
    expect(store.given[0]?.released).toBe(true);
  });

  it("stands by while others have it and while the store cannot be asked, says who, each once, and begins when it is its turn", async () => {
    const store = leases("n2", "n2", "away", "n3", "held");
    const told: string[] = [];
    const cut = new AbortController();
    await whileHeld(store, "poll", { signal: cut.signal, standby: (node) => told.push(standbyNote(node)), failed: (why) => told.push(why) }, async () => {
      told.push("began");
    });
    expect(told).toEqual(["standby, node n2 has it", "the database does not answer", "standby, node n3 has it", "began"]);
    expect(store.asked).toEqual(Array.from({ length: 5 }, () => "poll"));
  });

  it("stops when the lease is lost, waits for the end of the work, and asks again", async () => {
    const store = leases();
    const cut = new AbortController();
    let rounds = 0;
    let atOnce = 0;
    const done = whileHeld(store, "poll", { signal: cut.signal }, async (signal) => {
      rounds += 1;
      atOnce += 1;
      expect(atOnce).toBe(1);
      if (rounds === 3) cut.abort();
      else store.given.at(-1)?.cut.abort(new Error("lost"));
      await ended(signal);
      await new Promise((resolve) => setImmediate(resolve));
      atOnce -= 1;
    });
    await done;
    expect(rounds).toBe(3);
  });

  it("what the work throws goes to the caller, and the lease is given back", async () => {
    const store = leases();
    const failing = whileHeld(store, "poll", { signal: new AbortController().signal }, async () => {
      throw new Error("broken");
    });
    await expect(failing).rejects.toThrow("broken");
    expect(store.given[0]?.released).toBe(true);
  });
});
