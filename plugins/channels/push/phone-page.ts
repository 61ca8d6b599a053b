import { type CliHost, qrPicture } from "@svc/sdk";

/** A page that adds one phone: its address with the code, and a picture of it. */
export interface PhonePage {
  readonly page: string;
  readonly code: string;
  readonly expiresAt: number;
  /** Instructions for the person. */
  readonly words: string;
  picture(colours: boolean): Promise<string>;
}

/** Has the daemon issue a code, good for one phone. */
export async function phonePage(base: string, { request }: Pick<CliHost, "request">): Promise<PhonePage> {
  const { code, expiresAt } = (await request("POST", "/push/codes", {})) as { code: string; expiresAt: number };
  // Behind the hash: no server or proxy between gets to see it.
  const page = `${base}/push/index.html#${code}`;
  const insecure = /^http:\/\/(?!(localhost|127\.0\.0\.1|\[::1\])[:/]?)/.test(`${base}/`)
    ? "\nBrowsers take notices over https only: put a proxy with a certificate in front of the dashboard."
    : "";
  const until = new Date(expiresAt).toLocaleTimeString();
  return {
    page,
    code,
    expiresAt,
    words: `${page}\n\nOpen it on the phone before ${until}; it adds one phone.${insecure}`,
    async picture(colours) {
      const { encode } = await import("uqr");
      const { size, data } = encode(page, { ecc: "L", border: 0 });
      return qrPicture({ size, isDark: (row, column) => data[row]?.[column] === true }, { colours });
    },
  };
}

/** Normalises the address of a dashboard, or returns undefined if it is invalid. */
export function dashboardAt(address: string): string | undefined {
  const text = address.trim().replace(/\/+$/, "");
  return /^https?:\/\/[^/?#\s]+$/.test(text) ? text : undefined;
}
