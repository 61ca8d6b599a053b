import type { Op } from "@svc/sdk";
import { describe, expect, it } from "vitest";
import type { ScopedStore } from "../../base/state-store.ts";
import { countAttempt } from "./count-attempt.ts";
import type { TaskRecord } from "./record.ts";

const record = () => ({ id: "task_1", attempts: 0, steps: [{}] }) as unknown as TaskRecord;
const failure = (code: string) => Object.assign(new Error(code), { code });

/** A store whose answers to `note` are given; `noted` has what it took. */
function storeOf(...answers: readonly (Error | undefined)[]) {
  const noted: Op[] = [];
  const left = [...answers];
  const note = async (ops: readonly Op[]) => {
    const error = left.shift();
    if (error !== undefined) throw error;
    noted.push(...ops);
  };
  return { store: { note } as unknown as ScopedStore, noted, left };
}

describe("the count of an attempt", () => {
  const logged: unknown[] = [];
  const log = { error: (...what: unknown[]) => void logged.push(what) };

  it("FAULT-05 is tried again while the store cannot be reached, and resolves once it is stored", async () => {
    const { store, noted } = storeOf(failure("SVC_STORE_UNREACHABLE"), undefined);
    await countAttempt([{ record: record() }], { store, signal: new AbortController().signal, log });
    expect(noted).toMatchObject([{ key: "task_1", value: { attempts: 1, steps: [] } }]);
  });

  it("FAULT-05 takes no write where the message was stored with it, on the route that its turn has", async () => {
    const { store, noted } = storeOf();
    const options = { store, signal: new AbortController().signal, log };
    const route = { agent: "a", conversation: "c", reply: { channel: "http", chat: "c" } };
    const begun = { ...record(), route };
    expect(countAttempt([{ record: begun, foreseen: route }], options)).toBeUndefined();
    expect([begun.attempts, noted]).toEqual([1, []]);
    await countAttempt([{ record: { ...record(), route: { ...route, agent: "b" } }, foreseen: route }], options);
    expect(noted).toMatchObject([{ key: "task_1", value: { attempts: 1, route: { agent: "b" } } }]);
  });

  it("FAULT-05 is given up with the reason of the signal", async () => {
    const { store, noted } = storeOf(...Array.from({ length: 100 }, () => failure("SVC_STORE_UNREACHABLE")));
    const abort = new AbortController();
    const counted = countAttempt([{ record: record() }], { store, signal: abort.signal, log });
    abort.abort(new Error("taken over"));
    await expect(counted).rejects.toThrow("taken over");
    expect(noted).toEqual([]);
  });

  it("FAULT-06 rejects where another daemon has taken over", async () => {
    const { store } = storeOf(failure("SVC_STORE_FENCED"));
    await expect(countAttempt([{ record: record() }], { store, signal: new AbortController().signal, log })).rejects.toMatchObject({
      code: "SVC_STORE_FENCED",
    });
    expect(logged).toEqual([]);
  });

  it("FAULT-09 a full disk stops no work: it is logged", async () => {
    const { store } = storeOf(failure("SVC_STORE_FULL"));
    await countAttempt([{ record: record() }], { store, signal: new AbortController().signal, log });
    expect(logged).toHaveLength(1);
  });
});
