import type { ObjectSchema } from "@svc/sdk";
import { flag, word, words } from "../../../base/schema/shapes.ts";

/** `node`: identity of this daemon (001:L16-23). */
export const NODE: ObjectSchema = {
  type: "object",
  description: "identity of this machine",
  required: ["id", "name"],
  properties: {
    id: word("stable machine slug, the node's name among its peers", { restart: true, format: "line" }),
    name: word("readable name", { restart: true, format: "line" }),
    bind: word("address of the daemon's API, host:port", {
      default: "127.0.0.1:18800",
      format: "address",
      restart: true,
    }),
    url: word("address by which other machines reach this daemon, for svc --node; told to the daemons on the same store", { format: "url" }),
    hosts: words("names by which browsers and proxies reach this daemon and its plugins' servers, beside localhost and the address of bind", { default: [] }),
    trustedProxies: words("addresses and networks, such as 127.0.0.1 or 10.0.0.0/8, of proxies whose X-Forwarded-For is believed", { default: [] }),
    localSecret: flag("callers on this machine must prove that they may read the file .svc/local-secret; for machines with several users", {
      default: false,
      restart: true,
    }),
    defaultAgent: word("agent for calls that name none"),
  },
};
