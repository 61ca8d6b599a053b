import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { get, guarded } from "./auth.harness.ts";

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
