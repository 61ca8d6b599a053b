import { definePlugin } from "@svc/sdk";
import { createPeerAuthority } from "./authority.ts";
import { createPeers } from "./peers.ts";
import { MESH, type MeshSettings } from "./settings.ts";

export default definePlugin<MeshSettings>({
  kind: "feature",
  name: "mesh",
  version: "0.1.0",
  svc: "^0.1.0",
  config: { at: "mesh", schema: MESH },
  capabilities: ["fetch"],
  setup(ctx) {
    ctx.provide.authority(createPeerAuthority(ctx.config.peers));
    ctx.provide.service("peers", createPeers(ctx.config.peers, ctx.fetch));
  },
});
