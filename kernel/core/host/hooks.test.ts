import type { Delivery, Inbound, Turn, TurnContext } from "@svc/sdk";
import { describe, expect, it, vi } from "vitest";
import { createBreaker } from "./breaker.ts";
import { currentScope } from "./call.ts";
import { compileHooks, type OnFailure } from "./hooks.ts";
import { addTap, createScope, disposeScope, type HookName, onDispose, type Scope } from "./scope.ts";

const message = { id: "task_1", text: "hello" } as Inbound;
const turn = { id: "task_1" } as Turn;
const empty: TurnContext = { system: "", layers: [], prompt: "", media: [], history: [] };

function scope(id: string): Scope {
  return createScope(id as Scope["id"], () => {});
}

function tap(owner: Scope, hook: HookName, run: (...args: never[]) => unknown, options = {}): Scope {
  addTap(owner, hook, run, options);
  return owner;
}

const compile = (scopes: Scope[], onFailure: OnFailure = () => {}) =>
  compileHooks(
    scopes.flatMap(({ taps }) => taps),
    onFailure,
  );

const layer = (name: string) => (context: TurnContext) => ({ ...context, layers: [...context.layers, { name, priority: 1, text: name }] });

describe("the six hooks", () => {
  it("inbound and route: the first answer wins and later taps are not asked", async () => {
    const late = vi.fn();
    const hooks = compile([
      tap(scope("feature-a"), "inbound", () => undefined),
      tap(scope("feature-b"), "inbound", () => ({ reject: "no" })),
      tap(scope("feature-c"), "inbound", late),
    ]);
    expect(await hooks.inbound(message)).toEqual({ reject: "no" });
    expect(late).not.toHaveBeenCalled();
    expect(await hooks.route(message)).toBeUndefined();
  });

  it("assembleContext: each tap gets what the one before returned, by stage and before", async () => {
    const hooks = compile([
      tap(scope("feature-last"), "assembleContext", layer("last"), { stage: 10 }),
      tap(scope("feature-b"), "assembleContext", layer("b")),
      tap(scope("feature-a"), "assembleContext", layer("a"), { before: ["feature-b"] }),
    ]);
    const context = await hooks.assembleContext(empty, turn);
    expect(context.layers.map(({ name }) => name)).toEqual(["a", "b", "last"]);
  });

  it("assembleContext: taps run by their phases, among which a number sorts those of generation 1 of the plugin API", async () => {
    const hooks = compile([
      tap(scope("feature-late"), "assembleContext", layer("late"), { stage: 1_000 }),
      tap(scope("feature-fit"), "assembleContext", layer("fit"), { phase: "fit" }),
      tap(scope("feature-none"), "assembleContext", layer("none")),
      tap(scope("feature-layers"), "assembleContext", layer("layers"), { phase: "layers" }),
      tap(scope("feature-strategy"), "assembleContext", layer("strategy"), { phase: "strategy" }),
      tap(scope("feature-early"), "assembleContext", layer("early"), { stage: -60 }),
      tap(scope("feature-history"), "assembleContext", layer("history"), { phase: "history" }),
      tap(scope("feature-session"), "assembleContext", layer("session"), { phase: "session", stage: 5 }),
    ]);
    const context = await hooks.assembleContext(empty, turn);
    expect(context.layers.map(({ name }) => name)).toEqual(["session", "early", "history", "strategy", "none", "layers", "fit", "late"]);
  });

  it("a phase that is not known, or of a hook that has none, is refused", () => {
    const refused = expect.objectContaining({ code: "SVC_PLUGIN_PROVIDES" });
    expect(() => tap(scope("feature-a"), "assembleContext", layer("a"), { phase: "late" } as never)).toThrow(refused);
    expect(() => tap(scope("feature-a"), "deliver", (delivery: unknown) => delivery, { phase: "fit" } as never)).toThrow(refused);
  });

  it("a tap that throws, or answers nothing in a waterfall, is passed over with the value untouched", async () => {
    const failures: string[] = [];
    const hooks = compile(
      [
        tap(scope("feature-throws"), "assembleContext", () => {
          throw new Error("broken");
        }),
        tap(scope("feature-silent"), "assembleContext", () => undefined),
        tap(scope("feature-fine"), "assembleContext", layer("fine")),
      ],
      ({ id }, what, error) => failures.push(`${id} ${what} ${(error as Error).message}`),
    );
    expect((await hooks.assembleContext(empty, turn)).layers).toHaveLength(1);
    expect(failures).toEqual(["feature-throws hook assembleContext broken"]);
  });

  it("TRC-01 a tap that fails, or only listens, changes nothing of what it was given: it is frozen, and the attempt is the tap's failure", async () => {
    const failures: string[] = [];
    const writes = (hook: HookName) =>
      tap(scope(`feature-${hook}`), hook, (given: { text: string; layers: unknown[]; data: { a: number } }) => {
        if (hook === "assembleContext") given.layers = ["mine"];
        else if (hook === "emit") given.data.a = 2;
        else given.text = "mine";
      });
    const hooks = compile((["inbound", "route", "assembleContext", "deliver", "emit"] as const).map(writes), ({ id }, what, error) =>
      failures.push(`${id} ${what} ${(error as Error).constructor.name}`),
    );
    const given = { id: "task_1", text: "as it was written", sender: { id: "ann" } } as unknown as Inbound;
    await hooks.inbound(given);
    await hooks.route(given);
    expect(given).toEqual({ id: "task_1", text: "as it was written", sender: { id: "ann" } });
    expect(Object.isFrozen((given as unknown as { sender: object }).sender)).toBe(true);
    expect((await hooks.assembleContext({ ...empty, layers: [] }, turn)).layers).toEqual([]);
    expect(await hooks.deliver({ text: "the answer" } as Delivery)).toEqual({ text: "the answer" });
    expect(failures).toEqual(["inbound", "route", "assembleContext", "deliver"].map((hook) => `feature-${hook} hook ${hook} TypeError`));
  });

  it("FAULT-66 a tap over its deadline is passed over, its signal aborted, and after five failures its breaker opens", async () => {
    let aborted = 0;
    let asked = 0;
    const states: string[] = [];
    const slow = tap(
      scope("feature-slow"),
      "inbound",
      (_message: Inbound, call: { signal: AbortSignal }) => {
        asked += 1;
        call.signal.addEventListener("abort", () => {
          aborted += 1;
        });
        return new Promise(() => {});
      },
      { timeoutMs: 5 },
    );
    const hooks = compile([slow], (_scope, _what, _error, state) => states.push(state));
    for (let call = 0; call < 8; call += 1) expect(await hooks.inbound(message)).toBeUndefined();
    expect(asked).toBe(5);
    expect(aborted).toBe(5);
    expect(states).toEqual(["counted", "counted", "counted", "counted", "opened"]);
  });

  it("a required tap that fails fails the message, also while its breaker is open", async () => {
    const policy = tap(scope("feature-policy"), "inbound", () => Promise.reject(new Error("database away")), { required: true });
    const hooks = compile([policy]);
    for (let call = 0; call < 7; call += 1) await expect(async () => hooks.inbound(message)).rejects.toMatchObject({ code: "SVC_HOOK_REQUIRED" });
  });

  it("emit reaches everyone, and one that throws disturbs nobody", () => {
    const heard: string[] = [];
    const hooks = compile([
      tap(scope("feature-a"), "emit", () => {
        throw new Error("broken");
      }),
      tap(scope("feature-b"), "emit", (envelope: { id: string }) => heard.push(envelope.id)),
    ]);
    hooks.emit({ id: "evt_1" } as never);
    expect(heard).toEqual(["evt_1"]);
  });

  it("FAULT-65 what a tap starts later still knows whose it is", async () => {
    let owner: string | undefined;
    const hooks = compile([
      tap(scope("feature-later"), "inbound", () => {
        setTimeout(() => {
          owner = currentScope()?.id;
        }, 1);
      }),
    ]);
    await hooks.inbound(message);
    expect(currentScope()).toBeUndefined();
    await vi.waitFor(() => expect(owner).toBe("feature-later"));
  });

  it("FAULT-67 a disposed scope leaves no tap behind and runs every disposer, newest first", () => {
    const owner = tap(scope("feature-gone"), "inbound", () => ({ reject: "still here" }));
    const order: number[] = [];
    onDispose(owner, () => order.push(1));
    onDispose(owner, () => {
      throw new Error("stubborn");
    });
    onDispose(owner, () => order.push(3));
    expect(disposeScope(owner)).toHaveLength(1);
    expect(order).toEqual([3, 1]);
    expect(owner.abort.signal.aborted).toBe(true);
    expect(owner.taps).toEqual([]);
    onDispose(owner, () => order.push(5));
    expect(order).toEqual([3, 1, 5]);
  });
});

describe("the breaker", () => {
  it("opens for a minute, then two, and disables at the third opening within an hour", () => {
    let now = 0;
    const breaker = createBreaker(() => now);
    const failFive = () => [1, 2, 3, 4, 5].map(() => breaker.fail()).at(-1);
    expect(failFive()).toBe("opened");
    expect(breaker.closed).toBe(false);
    now += 60_000;
    expect(breaker.closed).toBe(true);
    expect(failFive()).toBe("opened");
    now += 60_000;
    expect(breaker.closed).toBe(false);
    now += 60_000;
    expect(failFive()).toBe("disabled");
    now += 10 * 3_600_000;
    expect(breaker.closed).toBe(false);
  });

  it("forgets failures that lie more than a minute apart", () => {
    let now = 0;
    const breaker = createBreaker(() => now);
    for (let failure = 0; failure < 20; failure += 1) {
      expect(breaker.fail()).toBe("counted");
      now += 20_000;
    }
  });
});
