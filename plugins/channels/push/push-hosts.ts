/** An address that nothing may be sent to: the reason, for people. */
export type Refusal = string;

/**
 * Allow list of push addresses. Browsers supply them and so choose where this daemon sends: only hosts of the list, each with its subdomains on a dot
 * boundary (CHAN-05), over https on the usual port. An entry that is an origin means that one alone; being written by the operator it may be a
 * private one, and plain http.
 */
export class PushHosts {
  readonly #hosts: readonly string[];
  /** Exempt from the address check of `fetch`. */
  readonly origins: readonly string[];

  constructor(entries: readonly string[]) {
    this.origins = entries.filter((entry) => entry.includes("://")).map((entry) => new URL(entry).origin);
    this.#hosts = entries.filter((entry) => !entry.includes("://")).map((entry) => entry.toLowerCase());
  }

  /** Why an address is not used; undefined for one that is. */
  refusal(address: string): Refusal | undefined {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (url === undefined) return "it is no address";
    if (url.username !== "" || url.password !== "") return "it holds credentials";
    if (this.origins.includes(url.origin)) return undefined;
    if (url.protocol !== "https:") return "it is not https";
    if (url.port !== "") return `its port ${url.port} is not the usual one`;
    const host = url.hostname.replace(/\.$/, "");
    return this.#hosts.some((allowed) => host === allowed || host.endsWith(`.${allowed}`))
      ? undefined
      : `its host ${host} is not in channels.push.allowedHosts`;
  }
}
