import type { Board } from "@svc/sdk";
import { boardContract } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { COMMON, PROJECT, type Stage, setStage, signal } from "./forge-a.harness.ts";

async function boardOf(stage: Stage): Promise<Board> {
  await stage.start();
  const [board] = stage.context.registered.boards;
  if (board === undefined) throw new Error("the plugin gives no board");
  return board;
}

boardContract({ describe, it }, async () => {
  const stage = await setStage();
  stage.far.open("ada", PROJECT, "issue", { title: "The newer one", at: Date.now() + 5_000 });
  return { board: await boardOf(stage), open: [`${PROJECT}#2`, `${PROJECT}#1`], label: "bug", dispose: () => stage.stop() };
});

describe("the issues of forge_a as cards", () => {
  it("BRD-02 a move is one call: labels in and out and the state, and labels of other prefixes stay", async () => {
    const stage = await setStage();
    const { far, issue } = stage;
    far.state.projects[0]?.labels.push("status::todo", "status::doing", "prio::1");
    const board = await boardOf(stage);
    await board.update?.(`${PROJECT}#1`, { addLabels: ["status::todo", "prio::1"] }, signal);
    const before = far.requests.length;
    const card = await board.update?.(`${PROJECT}#1`, { addLabels: ["status::doing"], removeLabels: ["status::todo"], state: "closed" }, signal);
    expect(far.requests.slice(before).map(({ method }) => method)).toEqual(["PUT"]);
    expect(card).toMatchObject({ labels: ["prio::1", "status::doing"], state: "closed", closedAt: expect.any(Number) });
    expect(far.item(issue)).toEqual({ labels: ["prio::1", "status::doing"], state: "closed" });
    expect(far.violations).toEqual([]);
  });

  it("BRD-03 a label that the project has not is refused with 422, by name, and nothing is written; one that is made meanwhile counts", async () => {
    const stage = await setStage();
    const board = await boardOf(stage);
    const wrong = { addLabels: ["Review"], state: "closed" as const };
    await expect(board.update?.(`${PROJECT}#1`, wrong, signal)).rejects.toMatchObject({ status: 422, message: expect.stringContaining("'Review'") });
    expect(stage.far.requests.filter(({ method }) => method === "PUT")).toEqual([]);
    stage.far.state.projects[0]?.labels.push("Review");
    await expect(board.update?.(`${PROJECT}#1`, wrong, signal)).resolves.toMatchObject({ state: "closed", labels: ["Review"] });
    expect(stage.far.violations).toEqual([]);
  });

  it("BRD-06 a project whose path has 120 characters is listed, got and moved", async () => {
    const stage = await setStage();
    const path = `${"group-of-many-teams/".repeat(5)}${"t".repeat(20)}`;
    expect(path).toHaveLength(120);
    stage.far.addProject(path, { private: true, members: { ada: "write", svc: "write" }, labels: ["Doing"] });
    stage.far.open("ada", path, "issue", { title: "Far down" });
    const board = await boardOf(stage);
    const [card] = await board.list({ projects: [path] }, signal);
    expect(card).toMatchObject({ id: `${path}#1`, project: path });
    expect(await board.get(`${path}#1`, signal)).toMatchObject({ title: "Far down" });
    expect(await board.update?.(`${path}#1`, { addLabels: ["Doing"] }, signal)).toMatchObject({ labels: ["Doing"] });
    expect(stage.far.violations).toEqual([]);
  });

  it("BRD-04 a refusal comes with the source's status, and its words", async () => {
    const stage = await setStage();
    stage.far.setLevel(PROJECT, "svc", 10);
    const board = await boardOf(stage);
    await expect(board.update?.(`${PROJECT}#1`, { state: "closed" }, signal)).rejects.toMatchObject({ status: 403, message: expect.stringContaining("403") });
    stage.far.revokeToken(COMMON);
    await expect(board.list({ projects: [PROJECT] }, signal)).rejects.toMatchObject({ status: 401 });
  });

  it("moves of one card go one after the other, each in one call, and the last one wins", async () => {
    const stage = await setStage();
    const board = await boardOf(stage);
    const states = ["closed", "open", "closed", "open", "closed"] as const;
    const cards = await Promise.all(states.map((state) => board.update?.(`${PROJECT}#1`, { state }, signal)));
    expect(cards.map((card) => card?.state)).toEqual(states);
    expect(stage.far.item(stage.issue).state).toBe("closed");
  });

  it("the closed ones are cut by the time at which they were closed, and names that mean something else are no cards", async () => {
    const stage = await setStage();
    const { far } = stage;
    const place = far.open("ada", PROJECT, "issue", { title: "Long done", at: Date.now() - 90 * 86_400_000 });
    const item = far.state.projects[0]?.items.get(`issue:${place.id}`);
    Object.assign(item ?? {}, { state: "closed", closedAt: Date.now() - 80 * 86_400_000, updatedAt: Date.now() });
    const board = await boardOf(stage);
    expect(await board.list({ projects: [PROJECT], state: "closed", since: Date.now() - 30 * 86_400_000 }, signal)).toEqual([]);
    for (const id of ["../../user#1", `${PROJECT}#0`, `${PROJECT}#1/../2`, `${PROJECT}?x=#1`, "#1", `${PROJECT}#1e3`])
      expect(await board.get(id, signal)).toBeUndefined();
    expect(far.violations).toEqual([]);
  });

  it("a list of more than a page is whole up to its limit", async () => {
    const stage = await setStage();
    for (let n = 0; n < 250; n += 1) stage.far.open("ada", PROJECT, "issue", { title: `number ${n}` });
    const board = await boardOf(stage);
    expect(await board.list({ projects: [PROJECT], limit: 1_000 }, signal)).toHaveLength(251);
    expect(await board.list({ projects: [PROJECT], limit: 120 }, signal)).toHaveLength(120);
  });
});
