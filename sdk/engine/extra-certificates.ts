import { readFileSync } from "node:fs";

/**
 * The certificates that `NODE_EXTRA_CA_CERTS` names, as PEM; undefined when the variable is unset or its file cannot be read. As in Node
 * itself a missing file fails nothing: a vendor that needs it is then not trusted, and says so.
 */
export function extraCertificates({ NODE_EXTRA_CA_CERTS: file }: Readonly<Record<string, string>>): string | undefined {
  if (file === undefined || file === "") return undefined;
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
