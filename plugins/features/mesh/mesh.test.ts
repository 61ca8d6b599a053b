import { createFakeCli, createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { createPeerAuthority } from "./authority.ts";
import plugin from "./index.ts";
import group from "./mesh-command.ts";

const peer = (name: string, token?: string) => ({ name, url: "http://192.0.2.1:18800", ...(token === undefined ? {} : { token }) });

describe("the tokens of peers", () => {
  it("AUTH-19 a bearer is valid when it equals the token of any configured peer, and of no other", async () => {
    const { verify } = createPeerAuthority([peer("one", "the token of peer one"), peer("two", "the token of peer two")]);
    expect(await verify("the token of peer one")).toEqual({ kind: "peer", name: "one" });
    expect(await verify("the token of peer two")).toEqual({ kind: "peer", name: "two" });
    for (const other of ["the token of peer", "the token of peer one ", "THE TOKEN OF PEER ONE", "x"]) expect(await verify(other), other).toBeUndefined();
  });

  it("CFG-04 an empty or missing token matches nothing, not even an empty bearer", async () => {
    const { verify } = createPeerAuthority([peer("empty", ""), peer("blank", "  "), peer("none")]);
    for (const bearer of ["", "  ", "undefined"]) expect(await verify(bearer)).toBeUndefined();
  });

  it("a token that two peers share stands for the first", async () => {
    const { verify } = createPeerAuthority([peer("one", "shared by the two"), peer("two", "shared by the two")]);
    expect(await verify("shared by the two")).toEqual({ kind: "peer", name: "one" });
  });
});

it("provides the authority and the service of its peers", () => {
  const context = createFakeContext(plugin, {
    config: { peers: [peer("one", "the token of peer one")], healthCheck: { interval: 60, timeout: 1 }, feed: { enabled: false, skipTypes: [] } } as never,
  });
  plugin.setup(context);
  expect(context.registered.authorities.map(({ name }) => name)).toEqual(["mesh"]);
  expect(context.registered.services.map(({ name }) => name)).toEqual(["peers"]);
  expect(context.registered.routes.map(({ path, guard }) => `${guard} ${path}`).sort()).toEqual([
    "loopback /mesh/peers",
    "loopback /mesh/peers/:name/test",
    "peer /mesh/announce",
    "peer /mesh/node",
    "peer /mesh/task",
    "peer /mesh/task/cancel",
    "scope:dashboard:write /api/admin/mesh/announce",
    "scope:dashboard:write /api/admin/mesh/peers",
    "scope:dashboard:write /api/admin/mesh/peers/:name/test",
  ]);
});

describe("svc mesh", () => {
  const document = { mesh: { enabled: true, peers: [peer("one", "${ONE}")] } };
  it("adds a peer by the name of a variable, behind those that are there, and removes by place", async () => {
    const cli = createFakeCli({ document } as never);
    await cli.run(group, "add", ["two", "http://192.0.2.2:18800"], { tokenEnv: "TWO" });
    await cli.run(group, "remove", ["one"]);
    const { mesh } = (await cli.settings.read()).document as { mesh: { enabled: boolean; peers: { name: string; url: string }[] } };
    expect(mesh).toMatchObject({ enabled: true, peers: [{ name: "two", url: "http://192.0.2.2:18800" }] });
    expect(mesh.peers).toHaveLength(1);
    await cli.run(group, "add", ["one", "http://192.0.2.1:18800"], { tokenEnv: "ONE" });
    for (const [name, url, tokenEnv] of [
      ["one", "http://x:1", "T"],
      ["new", "x:1", "T"],
      ["new", "http://x:1", "a secret itself"],
    ] as const)
      await expect(cli.run(group, "add", [name, url], { tokenEnv }), name).rejects.toMatchObject({ code: "SVC_CLI_USAGE" });
    await expect(cli.run(group, "remove", ["nobody"])).rejects.toMatchObject({ code: "SVC_MESH_PEER" });
  });
});
