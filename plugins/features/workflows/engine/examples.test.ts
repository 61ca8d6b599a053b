import { describe, expect, it } from "vitest";
import { durationMs } from "./duration.ts";
import { body, lines, SimulatedHost, workflow } from "./simulate.harness.ts";

const purchase = workflow(
  "start > ask, ask.approve > order, ask.reject > no, ask.due > nudge, ask.timeout > chief, chief.approve > order, chief.reject > no, chief.timeout > no, nudge.error > skip, order > done",
  {
    start: { kind: "trigger", inputSchema: { item: { type: "string", required: true } } },
    ask: { kind: "approval", title: "Buy {{ input.item }}?", assignee: "role:lead", due: "1d", timeout: "3d" },
    nudge: { kind: "agent", agent: "scout", message: "Remind the lead: {{ input.item }}" },
    skip: { kind: "set", value: null },
    chief: { kind: "approval", title: "Late", assignee: "role:chief", timeout: "2d" },
    order: { kind: "action", action: "http.post", input: { url: "http://shop.example/orders", body: "{{ input }}" } },
    done: { kind: "end", output: { ordered: true } },
    no: { kind: "end", output: { ordered: false } },
  },
);
const DAY = durationMs("1d") ?? 0;

describe("an approval with deadline and escalation", () => {
  it("says nothing on day 1 and is approved on day 2", () => {
    const host = new SimulatedHost(purchase, { input: { item: "kettle" } }).start();
    while (host.live("ask")[0]?.status !== "waiting") host.next();
    const from = host.journal.length;
    expect(lines(host.journal)).toEqual([
      "run.started",
      "ready start/1",
      "ended start/1 [out]",
      "ready ask/1",
      "claimed ask/1",
      "task.created ask/1",
      "waiting ask/1",
    ]);
    expect(host.live("ask")[0]?.wait).toMatchObject({ kind: "task", until: 1_000 + 3 * DAY, due: 1_000 + DAY });
    while (host.live("nudge").length === 0) host.next();
    while (host.live("nudge").length > 0) host.next();
    expect(host.now).toBe(1_000 + DAY);
    expect(lines(host.journal.slice(from))).toEqual(["task.overdue ask/1", "ready nudge/1", "claimed nudge/1", "ended nudge/1 [out]"]);
    host.now += DAY;
    const second = host.journal.length;
    host.give({ kind: "submit", at: host.now, step: "ask/1", port: "approve", values: { decision: "approve" }, by: "ada" });
    host.drain();
    expect(lines(host.journal.slice(second))).toEqual([
      "task.submitted ask/1",
      "ended ask/1 [approve]",
      "dead ask/1 [reject,due,timeout]",
      "ready order/1",
      "claimed order/1",
      "ended order/1 [out]",
      "ready done/1",
      "claimed done/1",
      "ended done/1 []",
      "scope.output done/1",
      "run.completed",
    ]);
    expect(host.run.output).toEqual({ ordered: true });
  });

  it("goes to the chief on day 3, and is not ordered on day 5", () => {
    const host = new SimulatedHost(purchase, { input: { item: "kettle" } }).start().drain();
    expect(host.now).toBe(1_000 + 5 * DAY);
    expect(lines(host.journal)).toContain("failed ask/1 TIMEOUT timeout");
    expect(lines(host.journal)).toContain("failed chief/1 TIMEOUT timeout");
    expect(lines(host.journal).filter((line) => line.startsWith("task.canceled"))).toEqual(["task.canceled ask/1", "task.canceled chief/1"]);
    expect(host.run.output).toEqual({ ordered: false });
  });
});

describe("a nightly report from two of three sources", () => {
  const nightly = workflow("start > each, each > write, write > fin", {
    each: {
      kind: "forEach",
      items: "{{ input.sites }}",
      onItemError: "continue",
      do: body("split", "split > a, split > b, split > c, a > two, b > two, c > two, two > row", {
        split: { kind: "set", value: "{{ item }}" },
        a: { kind: "action", action: "http.fetch", timeout: "30s" },
        b: { kind: "action", action: "http.fetch" },
        c: { kind: "action", action: "http.fetch" },
        two: { kind: "join", wait: 2, cancelRest: true },
        row: { kind: "end", output: { site: "{{ item }}", status: "{{ in[0].status }}" } },
      }),
    },
    write: { kind: "agent", message: "Write the report: {{ in }}", timeout: "20m" },
    fin: { kind: "end", output: "{{ in.reply }}" },
  });

  it("cancels the third source, and goes on without the site that failed", () => {
    const host = new SimulatedHost(nightly, {
      input: { sites: ["x", "y"] },
      answers: {
        a: (_, { item }) => (item === "y" ? { error: { code: "HTTP" } } : { output: { status: "a" } }),
        b: () => ({ hangs: true }),
        c: (_, { item }) => (item === "y" ? { hangs: true } : { output: { status: "c" } }),
        write: () => ({ output: { reply: "report" } }),
      },
    })
      .start()
      .drain();
    const of = (item: number) =>
      lines(host.journal, ["step.claimed", "scope.output"]).filter(
        (line) => line.includes(`1.${item}.`) || line === `item.ended ${item} ok` || line === `item.ended ${item} not ok`,
      );
    expect(of(0)).toEqual([
      "ready split/1.0.1",
      "ended split/1.0.1 [out]",
      "ready a/1.0.1",
      "ready b/1.0.1",
      "ready c/1.0.1",
      "ended a/1.0.1 [out]",
      "join.arrived two from a/1.0.1",
      "ended c/1.0.1 [out]",
      "join.arrived two from c/1.0.1",
      "canceled b/1.0.1",
      "join.fired two/1.0.1",
      "ready row/1.0.1",
      "ended row/1.0.1 []",
      "item.ended 0 ok",
    ]);
    expect(of(1)).toEqual([
      "ready split/1.1.1",
      "ended split/1.1.1 [out]",
      "ready a/1.1.1",
      "ready b/1.1.1",
      "ready c/1.1.1",
      "failed a/1.1.1 HTTP null",
      "canceled b/1.1.1",
      "canceled c/1.1.1",
      "item.ended 1 not ok",
    ]);
    expect(lines(host.journal).slice(5, 11)).toEqual([
      "items.opened each/1",
      "item.started 0",
      "item.started 1",
      "ready split/1.0.1",
      "ready split/1.1.1",
      "claimed split/1.0.1",
    ]);
    expect(host.journal.find((entry) => entry.kind === "step.ended" && entry.step === "each/1")).toMatchObject({
      output: [{ site: "x", status: "a" }, { error: { code: "HTTP", node: "a", iteration: "1.1.1", attempt: 1 } }],
    });
    expect(host.run).toMatchObject({ status: "completed", output: "report", steps: {}, groups: {} });
    expect(Object.keys(host.run.scopes)).toEqual([""]);
  });
});

describe("a saga with compensation", () => {
  const trip = workflow("start > hotel, hotel > car, car > pay, car.error > undoHotel, pay > ok, pay.error > undoCar, undoCar > undoHotel, undoHotel > sorry", {
    hotel: { kind: "action", action: "book-hotel" },
    car: { kind: "action", action: "book-car" },
    pay: { kind: "action", action: "charge", retry: { attempts: 3, delay: "2s" } },
    ok: { kind: "end", output: { booked: true } },
    undoCar: { kind: "action", action: "cancel-car", onExhausted: "ask" },
    undoHotel: { kind: "action", action: "cancel-hotel", onExhausted: "ask" },
    sorry: { kind: "fail", code: "TRIP_UNDONE" },
  });

  it("undoes what was done when the charge is refused three times", () => {
    const host = new SimulatedHost(trip, { answers: { pay: () => ({ error: { code: "ERROR", message: "refused" } }) } }).start().drain();
    const from = lines(host.journal).indexOf("claimed pay/1");
    expect(lines(host.journal).slice(from)).toEqual([
      "claimed pay/1",
      "retry pay/1 2000 ms",
      "claimed pay/1",
      "retry pay/1 4000 ms",
      "claimed pay/1",
      "failed pay/1 ERROR error",
      "dead pay/1 [out]",
      ...["undoCar", "undoHotel"].flatMap((node) => [`ready ${node}/1`, `claimed ${node}/1`, `ended ${node}/1 [out]`]),
      "ready sorry/1",
      "claimed sorry/1",
      "failed sorry/1 TRIP_UNDONE null",
      "run.failed TRIP_UNDONE",
    ]);
    expect(host.journal.filter((entry) => entry.kind === "step.claimed" && entry.step === "pay/1").map((entry) => "attempt" in entry && entry.attempt)).toEqual(
      [1, 2, 3],
    );
  });

  it("asks the owner when an undoing has no attempts left, who has it done again", () => {
    let broken = true;
    const host = new SimulatedHost(trip, {
      answers: { pay: () => ({ error: { code: "DECLINED" } }), undoCar: () => (broken ? { error: { code: "ERROR", message: "no line" } } : { output: 1 }) },
    })
      .start()
      .drain();
    expect(host.live("undoCar")[0]).toMatchObject({ status: "waiting", attempt: 1, wait: { kind: "incident", error: { message: "no line" } } });
    broken = false;
    host.give({ kind: "submit", at: host.now, step: "undoCar/1", port: "again", values: {}, by: "ada" });
    host.drain();
    expect(lines(host.journal)).toContain("ended undoCar/1 [out]");
    expect(host.run).toMatchObject({ status: "failed", error: { code: "TRIP_UNDONE" }, failedStep: "sorry/1" });
  });
});
