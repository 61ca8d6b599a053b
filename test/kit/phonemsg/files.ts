import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Library } from "./library.ts";

/** The platform's store of sealed files. */
export interface FileStore {
  /** Answers a request; false for one that is none of its own. */
  serve(request: IncomingMessage, response: ServerResponse): boolean;
  /** A sealed file of somebody, as a message describes it. */
  put(bytes: Uint8Array, kind: string, type: string): Promise<Library>;
  /** The bytes that a message describes; throws unless they are whole. */
  open(described: Library, kind: string): Promise<Uint8Array>;
}

const AUTH = "auth-of-files";

/** Makes an empty store. */
export function createFileStore(lib: Library): FileStore {
  const files = new Map<string, Buffer>();
  return {
    serve(request, response) {
      const url = new URL(request.url ?? "/", "http://files");
      const upload = /^\/mms\/(image|video|audio|document)\/([\w-]+)$/.exec(url.pathname);
      if (request.method === "POST" && upload !== null) {
        const chunks: Buffer[] = [];
        request.on("data", (chunk) => chunks.push(chunk));
        request.on("end", () => {
          const body = Buffer.concat(chunks);
          const digest = createHash("sha256").update(body).digest("base64url");
          const fits = url.searchParams.get("auth") === AUTH && url.searchParams.get("token") === upload[2] && digest === upload[2];
          if (!fits) return response.writeHead(401).end();
          const path = `/v/${digest}`;
          files.set(path, body);
          response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ url: `https://mmg.whatsapp.net${path}`, direct_path: path }));
        });
        return true;
      }
      if (request.method === "GET" && url.pathname.startsWith("/v/")) {
        const found = files.get(url.pathname);
        response.writeHead(found === undefined ? 404 : 200).end(found);
        return true;
      }
      return false;
    },
    async put(bytes, kind, mimetype) {
      const mediaKey = randomBytes(32);
      const { iv, cipherKey, macKey } = await lib.getMediaKeys(mediaKey, kind);
      const cipher = createCipheriv("aes-256-cbc", cipherKey, iv);
      const sealed = Buffer.concat([cipher.update(bytes), cipher.final()]);
      const whole = Buffer.concat([sealed, createHmac("sha256", macKey).update(iv).update(sealed).digest().subarray(0, 10)]);
      const fileEncSha256 = createHash("sha256").update(whole).digest();
      const directPath = `/v/${fileEncSha256.toString("base64url")}`;
      files.set(directPath, whole);
      return {
        url: `https://mmg.whatsapp.net${directPath}`,
        directPath,
        mediaKey,
        mimetype,
        fileEncSha256,
        fileSha256: createHash("sha256").update(bytes).digest(),
        fileLength: bytes.length,
      };
    },
    async open({ directPath, mediaKey, fileSha256, fileEncSha256 }, kind) {
      const whole = files.get(directPath);
      if (whole === undefined) throw new Error(`there is no file ${directPath}`);
      const { iv, cipherKey, macKey } = await lib.getMediaKeys(mediaKey, kind);
      const sealed = whole.subarray(0, -10);
      if (!createHmac("sha256", macKey).update(iv).update(sealed).digest().subarray(0, 10).equals(whole.subarray(-10))) throw new Error("a file is not whole");
      if (!createHash("sha256").update(whole).digest().equals(Buffer.from(fileEncSha256))) throw new Error("a file is not the one that is described");
      const cipher = createDecipheriv("aes-256-cbc", cipherKey, iv);
      const bytes = Buffer.concat([cipher.update(sealed), cipher.final()]);
      if (!createHash("sha256").update(bytes).digest().equals(Buffer.from(fileSha256))) throw new Error("a file is not the one that was sent");
      return bytes;
    },
  };
}
