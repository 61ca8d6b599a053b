import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { isForwarded, peerOf } from "./address.ts";
import { createAdmission } from "./admit.ts";
import { recordingLog } from "./http.harness.ts";

/** A request as node hands it over, from an address this machine may not have. */
function request(remoteAddress: string, host: string, localAddress = "192.0.2.1"): IncomingMessage {
  const socket = Object.defineProperties(new Socket(), { remoteAddress: { value: remoteAddress }, localAddress: { value: localAddress } });
  const message = new IncomingMessage(socket);
  message.url = "/x";
  message.method = "GET";
  message.rawHeaders = ["Host", host];
  message.headers = { host };
  return message;
}

it("AUTH-16 tells loopback by the socket address in every spelling, and by nothing else", () => {
  const loopback = (address: string) => peerOf(request(address, "x").socket).loopback;
  for (const address of ["127.0.0.1", "127.9.8.7", "::1", "::ffff:127.0.0.1", "::FFFF:127.1.1.1", "0:0:0:0:0:0:0:1"])
    expect(loopback(address), address).toBe(true);
  for (const address of ["128.0.0.1", "192.0.2.1", "::ffff:192.0.2.1", "::2", "fe80::1%lo", "localhost", "127.0.0.1.example", ""])
    expect(loopback(address), address).toBe(false);
  expect(peerOf(request("::ffff:192.0.2.9", "x").socket).address).toBe("192.0.2.9");
});

it("AUTH-17 every forwarding header means that a proxy passed it on, also an empty one", () => {
  for (const name of ["forwarded", "x-forwarded-for", "x-forwarded-proto", "via", "x-real-ip", "cf-ray"])
    expect(isForwarded({ host: "localhost", [name]: "" }), name).toBe(true);
  expect(isForwarded({ host: "localhost", "x-requested-with": "svc", "cache-control": "no-store" })).toBe(false);
});

it("lets other machines use any name only where it is told so, and never this machine's own browsers", () => {
  const strict = createAdmission({ hosts: () => [], origins: () => [], log: recordingLog() });
  const lenient = createAdmission({ hosts: () => [], origins: () => [], anyNameFromAfar: true, log: recordingLog() });
  expect(strict(request("198.51.100.7", "mybox.lan:18800"))).toMatchObject({ status: 403, code: "SVC_HTTP_HOST" });
  expect(lenient(request("198.51.100.7", "mybox.lan:18800"))).toBeUndefined();
  expect(lenient(request("127.0.0.1", "mybox.lan:18800"))).toMatchObject({ status: 403 });
  expect(lenient(request("198.51.100.7", "bad host"))).toMatchObject({ status: 403 });
});

it("lets the addresses in that the connection came to, in every spelling", () => {
  const strict = createAdmission({ hosts: () => [], origins: () => [], log: recordingLog() });
  expect(strict(request("198.51.100.7", "192.0.2.1:80", "::ffff:192.0.2.1"))).toBeUndefined();
  expect(strict(request("198.51.100.7", "[2001:db8::1]", "2001:DB8::1"))).toBeUndefined();
  expect(strict(request("198.51.100.7", "192.0.2.2"))).toMatchObject({ status: 403 });
});
