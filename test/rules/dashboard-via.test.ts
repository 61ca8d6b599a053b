import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { ownPrograms } from "../kit/own-programs.ts";
import { get, guarded, send } from "./auth.harness.ts";

it("what another daemon answers is data here: no page and no script of its dashboard is one of ours", async () => {
  const types = ["text/html", "text/javascript", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/json; charset=utf-8", "text/plain", ""];
  const far = createServer(({ url = "" }, response) => {
    const type = types[Number(url.split("/").at(-1))];
    response.writeHead(200, type === "" ? {} : { "content-type": type }).end("<script src=/api/via/far/api/x></script>");
  });
  await new Promise<void>((resolve) => far.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(far.address() as AddressInfo).port}`;
    const at = await guarded({ dashboard: { daemons: [{ name: "far", url, dashboardUrl: url }] } });
    const answers = await Promise.all(types.map((_type, n) => get(at.dashboard, `/api/via/far/api/${n}`)));
    const bytes = "application/octet-stream";
    expect(answers.map(({ headers }) => headers.get("content-type"))).toEqual([bytes, bytes, bytes, bytes, bytes, types[5], types[6], bytes]);
    for (const { headers } of answers) {
      expect(headers.get("content-security-policy")).toBe("default-src 'none'; frame-ancestors 'none'; sandbox");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  } finally {
    far.close();
  }
});

it("BRD-06 the id of a card reaches another daemon as it was sent, slash and all, and nothing else becomes one", async () => {
  const asked: string[] = [];
  const far = createServer(({ url = "" }, response) => {
    asked.push(url);
    response.writeHead(200, { "content-type": "application/json" }).end("{}");
  });
  await new Promise<void>((resolve) => far.listen(0, "127.0.0.1", resolve));
  try {
    const url = `http://127.0.0.1:${(far.address() as AddressInfo).port}`;
    const at = await guarded({ dashboard: { daemons: [{ name: "far", url, dashboardUrl: url }] } });
    const move = "/api/boards/team/items/group%2Fa%20project%2312/move";
    expect((await send(at.dashboard, `/api/via/far${move}`, { to: "done" }, {}, "PATCH")).status).toBe(200);
    expect((await get(at.dashboard, "/api/via/far/api/boards/a%5Cb?x=1%2F2")).status).toBe(200);
    expect(asked).toEqual([move, "/api/boards/a%5Cb?x=1%2F2"]);
  } finally {
    far.close();
  }
});

it("AUTH-09 OPS-06 a program that the daemon started gets through to no other daemon: there it would be the operator", async () => {
  const { plugin, run } = ownPrograms();
  const far = await guarded({ dashboard: { token: "the-far-bearer" } });
  const daemons = [{ name: "far", url: far.daemon, dashboardUrl: far.dashboard, dashboardToken: "the-far-bearer" }];
  const at = await guarded({ dashboard: { daemons }, plugins: [plugin] });
  const asks = "fetch(process.argv[1], { method: process.argv[2] }).then((answer) => console.log(answer.status))";
  const own = (method: string, path: string) => run(process.execPath, ["-e", asks, `${at.dashboard}/api/via/far/${path}`, method]);
  expect(await own("POST", "api/admin/tokens")).toBe("403");
  expect(await own("GET", "api/admin/settings")).toBe("403");
  // A person of this machine gets through.
  expect((await get(at.dashboard, "/api/via/far/api/admin/settings")).status).toBe(200);
  expect((await send(at.dashboard, "/api/via/far/api/admin/tokens", {})).status).toBe(400);
});
