import { expect, it, vi } from "vitest";
import { userName } from "./user-name.ts";

const userInfo = vi.hoisted(() => vi.fn());
vi.mock("node:os", () => ({ userInfo }));

it("a user is called by the name, and one without a name, as in a container, by the number", () => {
  userInfo.mockReturnValue({ username: "ann" });
  expect(userName()).toBe("ann");
  userInfo.mockImplementation(() => {
    throw new Error("uv_os_get_passwd returned ENOENT");
  });
  expect(userName()).toBe(`uid ${process.getuid?.()}`);
});
