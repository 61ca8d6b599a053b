import type { Accounts } from "./accounts.ts";
import type { Bundle } from "./device.ts";
import type { Library } from "./library.ts";

const element = (tag: string, attrs: Record<string, string> = {}, content?: unknown) => ({ tag, attrs, ...(content === undefined ? {} : { content }) });
const big = (value: number, size: number): Buffer => {
  const bytes = Buffer.alloc(size);
  bytes.writeUIntBE(value, 0, size);
  return bytes;
};

/** What the answers to a client's questions are made of. */
export interface QueryDeps {
  readonly lib: Library;
  readonly accounts: Accounts;
  /** The linked account: its number, hidden id, and the linked device's number. */
  ownerBundle(): Bundle;
  readonly own: { readonly number: string; readonly hidden: string; readonly device: number };
  /** The client uploads what others need to write to it for the first time. */
  uploaded(bundles: Bundle[], singles: number): void;
  /** How many single keys of it are left. */
  left(): number;
  /** It asks to be linked by a code. */
  linkByCode(stage: Library): Library | undefined;
  mediaHost(): string;
}

/** A question that a real server would refuse. */
export class Refused extends Error {}

/** Answers an `iq`; undefined where none is due. Throws `Refused` for what the platform does not know. */
export function answerQuery(node: Library, deps: QueryDeps): { content?: unknown; attrs?: Record<string, string> } | undefined {
  const { lib, accounts, own } = deps;
  const { xmlns, type } = node.attrs;
  const [child] = Array.isArray(node.content) ? node.content : [];
  switch (xmlns) {
    case "encrypt":
      if (type === "set" && node.content?.some(({ tag }: Library) => tag === "list")) return upload(node, deps);
      if (child?.tag === "count") return { content: [element("count", { value: String(deps.left()) })] };
      if (child?.tag === "digest") return { content: [element("digest")] };
      if (child?.tag === "rotate") return {};
      if (child?.tag === "key")
        return {
          content: [
            element(
              "list",
              {},
              child.content.map(({ attrs }: Library) => keysOf(deps, attrs.jid)),
            ),
          ],
        };
      break;
    case "usync": {
      const users = lib.getBinaryNodeChildren(lib.getBinaryNodeChild(child, "list"), "user");
      return {
        content: [
          element("usync", { sid: child.attrs.sid, index: "0", last: "true" }, [
            element(
              "list",
              {},
              users.map((user: Library) => devicesOf(user.attrs.jid, deps)),
            ),
          ]),
        ],
      };
    }
    case "w:g2": {
      const group = accounts.groups.get(node.attrs.to);
      if (child?.tag === "participating")
        return {
          content: [
            element(
              "groups",
              {},
              [...accounts.groups.values()].map((one) => groupNode(one, own)),
            ),
          ],
        };
      if (child?.tag !== "query" || group === undefined) throw new Refused("item-not-found");
      return { content: [groupNode(group, own)] };
    }
    case "w:m":
      return {
        content: [
          element("media_conn", { auth: "auth-of-files", ttl: "3600" }, [element("host", { hostname: deps.mediaHost(), maxContentLengthBytes: "104857600" })]),
        ],
      };
    case "md":
      if (child?.tag === "remove-companion-device") return {};
      if (child?.tag === "link_code_companion_reg") return { content: [deps.linkByCode(child)].filter(Boolean) };
      break;
    case "abt":
      return { content: [element("props", { hash: "h" }, [])] };
    case "blocklist":
      return { content: [element("list", {}, [])] };
    case "privacy":
      return type === "get" ? { content: [element("privacy", {}, [])] } : { content: [element("tokens", {}, [])] };
    case "w:p":
    case "passive":
    case "urn:xmpp:whatsapp:dirty":
    case "w:stats":
      return {};
    case "w:sync:app:state":
      return {
        content: [
          element(
            "sync",
            {},
            lib
              .getBinaryNodeChildren(child, "collection")
              .map(({ attrs }: Library) => element("collection", { name: attrs.name, version: attrs.version ?? "0", type: "result" }, [])),
          ),
        ],
      };
    default:
      break;
  }
  throw new Refused(`${xmlns}/${child?.tag}`);
}

function upload(node: Library, { lib, uploaded }: QueryDeps) {
  const child = (tag: string, of = node) => lib.getBinaryNodeChild(of, tag);
  const number = (bytes: Uint8Array) => Buffer.from(bytes).readUIntBE(0, bytes.length);
  const signed = child("skey");
  const singles = lib.getBinaryNodeChildren(child("list"), "key");
  const common = {
    registrationId: number(child("registration").content),
    identity: child("identity").content,
    signed: { id: number(child("id", signed).content), key: child("value", signed).content, signature: child("signature", signed).content },
  };
  uploaded(
    singles.map((single: Library) => ({ ...common, single: { id: number(child("id", single).content), key: child("value", single).content } })),
    singles.length,
  );
  return {};
}

function keysOf({ accounts, own, ownerBundle }: QueryDeps, jid: string) {
  const mine = [own.number, own.hidden.split("@")[0]].includes(jid.split(/[:@]/)[0]);
  const bundle = mine ? ownerBundle() : accounts.find(jid)?.device.freshBundle();
  if (bundle === undefined) return element("user", { jid }, [element("error", { code: "404", text: "item-not-found" })]);
  return element("user", { jid }, [element("registration", {}, big(bundle.registrationId, 4)), ...keyNodes(bundle)]);
}

/** What others need to write to a device for the first time, as nodes. */
export function keyNodes({ identity, signed, single }: Bundle) {
  return [
    element("type", {}, Buffer.from([5])),
    element("identity", {}, identity),
    ...(single === undefined ? [] : [element("key", {}, [element("id", {}, big(single.id, 3)), element("value", {}, single.key)])]),
    element("skey", {}, [element("id", {}, big(signed.id, 3)), element("value", {}, signed.key), element("signature", {}, signed.signature)]),
  ];
}

function devicesOf(jid: string, { lib, accounts, own }: QueryDeps) {
  const { user } = lib.jidDecode(jid);
  const mine = user === own.number || `${user}@lid` === own.hidden;
  const person = accounts.find(jid);
  const ids = mine ? [0, own.device] : [0];
  return element("user", { jid }, [
    element("devices", {}, [
      element(
        "device-list",
        {},
        person === undefined && !mine ? [] : ids.map((id) => element("device", { id: String(id), ...(id === 0 ? {} : { "key-index": "1" }) })),
      ),
    ]),
    ...(person === undefined ? [] : [element("lid", { val: person.hidden })]),
  ]);
}

function groupNode(
  { id, subject, members, description }: { id: string; subject: string; members: readonly { address: string }[]; description?: string },
  own: { number: string },
) {
  return element(
    "group",
    { id: id.split("@")[0] as string, subject, s_t: "1700000000", creation: "1700000000", creator: `${own.number}@s.whatsapp.net`, addressing_mode: "pn" },
    [
      ...(description === undefined ? [] : [element("description", { id: "d", t: "1700000000" }, [element("body", {}, Buffer.from(description))])]),
      element("participant", { jid: `${own.number}@s.whatsapp.net`, type: "admin" }),
      ...members.map(({ address }) => element("participant", { jid: address })),
    ],
  );
}
