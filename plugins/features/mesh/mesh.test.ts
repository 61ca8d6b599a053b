import { createFakeContext } from "@svc/sdk/testing";
import { describe, expect, it } from "vitest";
import { createPeerAuthority } from "./authority.ts";
import plugin from "./index.ts";

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

it("provides the authority and the service of its peers, and no route", () => {
  const context = createFakeContext(plugin, { config: { peers: [peer("one", "the token of peer one")] } as never });
  plugin.setup(context);
  expect(context.registered.authorities.map(({ name }) => name)).toEqual(["mesh"]);
  expect(context.registered.routes).toEqual([]);
});
