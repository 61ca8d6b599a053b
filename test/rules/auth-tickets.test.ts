import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { bearer, framesOf, type Guarded, get, guarded, REMOTE, send } from "./auth.harness.ts";

/** A ticket for the stream of `secret`. */
async function ticketOf(at: Guarded, secret: string): Promise<string> {
  const { status, body } = await send(at.dashboard, "/api/ticket", {}, { ...bearer(secret), ...REMOTE });
  expect(status).toBe(200);
  return body.ticket as string;
}

const open = (at: Guarded, ticket: string, path = "/api/live/stream") => fetch(`${at.dashboard}${path}?token=${ticket}`, { headers: REMOTE });
const codeOf = async (response: Response) => [response.status, ((await response.json()) as { code?: string }).code];

describe("a ticket for a stream", () => {
  it("AUTH-04 opens one stream, which lives as long as the token behind it, and ends with it", async () => {
    const at = await guarded({ dashboard: { token: "the-single-bearer" } });
    const [gone, stays] = await Promise.all([at.token("dashboard:read"), at.token("dashboard:write")]);
    const tickets = [await ticketOf(at, gone.secret), await ticketOf(at, stays.secret)] as const;
    const streams = [framesOf(await open(at, tickets[0])), framesOf(await open(at, tickets[1]))] as const;
    for (const stream of streams) expect((await stream.next()).value).toMatchObject({ event: "snapshot" });
    for (const ticket of tickets) expect(await codeOf(await open(at, ticket))).toEqual([401, "SVC_HTTP_BEARER_UNKNOWN"]);

    const unused = await ticketOf(at, gone.secret);
    expect((await at.svc("token", "revoke", gone.id)).code).toBe(0);
    expect(await codeOf(await open(at, unused))).toEqual([401, "SVC_HTTP_BEARER_UNKNOWN"]);
    // Ends when both streams are judged again: the other one, whose ticket is used up as well, goes on.
    for (let frame = await streams[0].next(); !frame.done; frame = await streams[0].next());
    await at.kernel.tasks.run({ entry: "task", channel: "http", chat: "c", text: "hello", agent: "foo" });
    expect((await streams[1].next()).value).toMatchObject({ event: "event" });
    await streams[1].return(undefined);
    expect((await send(at.dashboard, "/api/ticket", {}, { ...bearer(gone.secret), ...REMOTE })).status).toBe(401);
  });

  it("AUTH-08 is good for reading the dashboard and nothing else, whatever its token may do", async () => {
    const at = await guarded({ dashboard: { token: "the-single-bearer" } });
    const { secret } = await at.token("dashboard:write", "agent:*");
    const action = "/api/task/action?task=task_x&kind=cancel";
    expect((await send(at.dashboard, `${action}&token=${await ticketOf(at, secret)}`, {}, REMOTE)).status).toBe(403);
    expect((await send(at.dashboard, "/api/public/agents/foo/messages", { message: "hi" }, { ...bearer(await ticketOf(at, secret)), ...REMOTE })).status).toBe(
      403,
    );
    expect((await open(at, await ticketOf(at, "the-single-bearer"), "/api/live")).status).toBe(200);
    expect((await send(at.dashboard, "/api/ticket", {}, { ...bearer(await ticketOf(at, secret)), ...REMOTE })).body.code).toBe("SVC_DASHBOARD_TICKET");
    const poor = await at.token("agent:foo");
    expect((await send(at.dashboard, "/api/ticket", {}, { ...bearer(poor.secret), ...REMOTE })).status).toBe(403);
  });

  it("AUTH-13 is not needed where no token is: then there is none", async () => {
    const at = await guarded();
    expect((await send(at.dashboard, "/api/ticket")).body).toEqual({});
    expect((await send(at.dashboard, "/api/ticket", {}, REMOTE)).status).toBe(401);
    expect((await get(at.dashboard, "/api/live/stream?token=svc_ticket_0")).status).toBe(401);
  });

  it("AUTH-05 stands in no log, and the token behind it neither", async () => {
    const at = await guarded({ dashboard: { token: "the-single-bearer" } });
    const ticket = await ticketOf(at, "the-single-bearer");
    const response = await open(at, ticket, "/api/task/stream");
    await open(at, ticket, "/api/task/stream");
    await response.body?.cancel();
    await at.kernel.stop({ drainSeconds: 0 });
    const log = await readFile(at.logFile, "utf8");
    expect(log).not.toBe("");
    for (const secret of [ticket, ticket.slice("svc_ticket_".length), "the-single-bearer"]) expect(log).not.toContain(secret);
  });
});
