/** Addresses of this machine and its network are its own doors. */
export function refuseAddress(address: string): string | undefined {
  if (!URL.canParse(address)) return "the address cannot be read";
  const { protocol, hostname } = new URL(address);
  if (protocol !== "https:" && protocol !== "http:") return `${protocol} is no web address`;
  const own =
    /^(localhost|.*\.(localhost|local|internal|home\.arpa)|127\.\d+\.\d+\.\d+|10\.\d+\.\d+\.\d+|192\.168\.\d+\.\d+|172\.(1[6-9]|2\d|3[01])\.\d+\.\d+|169\.254\.\d+\.\d+|0\.0\.0\.0|\[.*\])\.?$/i;
  return own.test(hostname) || !hostname.includes(".") ? `${hostname} is on this machine or its network` : undefined;
}
