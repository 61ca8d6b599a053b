import { describe, expect, it } from "vitest";
import type { ApprovalDecision, ApprovalQuestion, Approvals } from "../approvals.ts";
import { svcError } from "../errors.ts";
import type { Services, ServiceTypes } from "../services.ts";
import type { TierEvent, Turn } from "../tier.ts";
import { permissionQuestions } from "./permission-questions.ts";

const turn = (settings: object, autonomy?: string) =>
  ({ id: "task_1", agent: { id: "ada", workspace: "/w", settings }, messages: [{ options: autonomy === undefined ? {} : { autonomy } }] }) as unknown as Turn;

/** A service whose questions the test answers. */
function desk() {
  const asked: (ApprovalQuestion & { id: string })[] = [];
  const waiting = new Map<string, (decision: Partial<ApprovalDecision>) => void>();
  const withdrawn: string[] = [];
  const api = {
    digest: async (action: unknown) => JSON.stringify(action),
    async ask(question: ApprovalQuestion) {
      const id = `q${asked.length + 1}`;
      asked.push({ ...question, id });
      return { id };
    },
    get: async (id: string) => ({ id, expiresAt: Date.now() + 60_000 }),
    wait: (id: string, signal: AbortSignal) =>
      new Promise((resolve, reject) => {
        waiting.set(id, (decision) => resolve({ id, digest: asked.find((one) => one.id === id)?.digest, ...decision }));
        signal.addEventListener("abort", () => reject(signal.reason));
      }),
    async withdraw(id: string) {
      withdrawn.push(id);
      return true;
    },
  } as unknown as Approvals;
  const services: Pick<Services, "get"> = { get: <N extends keyof ServiceTypes>() => api as unknown as ServiceTypes[N] };
  const answer = async (id: string, decision: Partial<ApprovalDecision>) => {
    while (!waiting.has(id)) await new Promise((resolve) => setTimeout(resolve, 1));
    waiting.get(id)?.({ by: "Ann", surface: "chat", ...decision });
  };
  return { asked, withdrawn, services, answer };
}

function asking({ services, settings = { permissionQuestions: "ask" }, autonomy }: { services: Pick<Services, "get">; settings?: object; autonomy?: string }) {
  const told: TierEvent[] = [];
  const abort = new AbortController();
  const ask = permissionQuestions({ services, turn: turn(settings, autonomy), signal: abort.signal, tell: (event) => void told.push(event) });
  return { ask, told, abort };
}

describe("a question about a call", () => {
  it("is asked where the agent says so, and never in a run of restricted autonomy", () => {
    const { services } = desk();
    for (const given of [{ settings: {} }, { settings: { permissionQuestions: "refuse" } }, { autonomy: "report" }, { autonomy: "propose" }])
      expect(asking({ services, ...given }).ask, JSON.stringify(given)).toBeUndefined();
    expect(asking({ services, autonomy: "act" }).ask).toBeDefined();
  });

  it("holds all of the call, for its digest too, and belongs to the run", async () => {
    const { services, asked, answer } = desk();
    const { ask } = asking({ services });
    const asks = ask?.({ tool: "Bash", input: { command: "a\nb" } });
    await answer("q1", { state: "approved" });
    expect(await asks).toEqual({ allow: true, reason: "" });
    expect(asked).toMatchObject([{ kind: "permission", taskId: "task_1", agent: "ada", detail: expect.stringContaining('"command": "a\\nb"') }]);
    expect(asked[0]?.digest).toBe(JSON.stringify({ agent: "ada", workspace: "/w", tool: "Bash", input: { command: "a\nb" } }));
  });

  it("is a no by any other end, and by a yes to something else", async () => {
    for (const decision of [
      { state: "rejected" },
      { state: "expired", by: undefined },
      { state: "withdrawn", by: undefined },
      { state: "approved", digest: "another" },
    ] as const) {
      const { services, answer } = desk();
      const { ask, told } = asking({ services });
      const asks = ask?.({ tool: "Bash", input: {} });
      await answer("q1", decision as Partial<ApprovalDecision>);
      expect((await asks)?.allow, decision.state).toBe(false);
      expect(told.at(-1)).toMatchObject({ type: "step", step: { name: "permission", error: expect.any(String) } });
    }
  });

  it("is a no where it cannot be asked: no service, one that fails, one that ends", async () => {
    const none = asking({ services: { get: () => undefined } });
    expect(await none.ask?.({ tool: "Bash", input: {} })).toMatchObject({ allow: false, reason: expect.stringContaining("no plugin serves approvals") });
    const failing = { digest: async () => "d", ask: () => Promise.reject(svcError("SVC_SERVICE_GONE", "it has ended")) };
    const broken = asking({ services: { get: () => failing as never } });
    expect(await broken.ask?.({ tool: "Bash", input: {} })).toMatchObject({ allow: false, reason: expect.stringContaining("it has ended") });
  });

  it("is withdrawn when the run is stopped", async () => {
    const { services, withdrawn, asked } = desk();
    const { ask, abort } = asking({ services });
    const asks = ask?.({ tool: "Bash", input: {} });
    while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await new Promise((resolve) => setTimeout(resolve, 5));
    abort.abort(new Error("cancelled"));
    expect(await asks).toMatchObject({ allow: false });
    expect(withdrawn).toEqual(["q1"]);
  });

  it("beside another one leaves the run waiting until both are answered", async () => {
    const { services, answer } = desk();
    const { ask, told } = asking({ services });
    const both = [ask?.({ tool: "Bash", input: 1 }), ask?.({ tool: "Write", input: 2 })];
    await answer("q1", { state: "approved" });
    await both[0];
    await answer("q2", { state: "rejected" });
    await both[1];
    expect(told.map((event) => (event.type === "step" ? `step ${event.step.id}` : event.type))).toEqual([
      "waiting",
      "waiting",
      "step question q1",
      "waiting",
      "step question q2",
    ]);
    expect(told.filter(({ type }) => type === "waiting").every((event) => event.type === "waiting" && event.person === true)).toBe(true);
  });
});
