/** Uploads on a disk without room. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterEach, describe, expect, it } from "vitest";
import { errorAnswer } from "../../src/http/errors.js";
import { createUploads } from "../../src/http/uploads.js";

/** Of the system; in a container without them the test of a real disk is left out. */
const [MOUNT, UNMOUNT] = ["mount", "umount"] as const;
const DISK_BYTES = 65_536;
const cleanUps: (() => unknown)[] = [];
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0).reverse()) cleanUp();
});

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "hookgate-uploads-"));
  cleanUps.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A disk of 64 kB; undefined where this user may not mount one. */
function smallDisk(): string | undefined {
  const folder = temporaryFolder();
  try {
    execFileSync(MOUNT, ["-t", "tmpfs", "-o", `size=${DISK_BYTES}`, "tmpfs", folder], { stdio: "ignore" });
  } catch {
    return undefined;
  }
  cleanUps.push(() => execFileSync(UNMOUNT, [folder]));
  return folder;
}

function saving(folder: string, bytes: Readable) {
  const uploads = createUploads(folder, { maxBytes: 1_000_000, quotaBytes: 10_000_000 });
  return uploads.save("2", { filename: "a.txt", mimeType: "text/plain", bytes });
}

const chunks = (bytes: number) => Readable.from([Buffer.alloc(bytes, "x")]);

describe("an upload on a full disk", () => {
  it.each([
    ["whose bytes do not fit", 200_000],
    ["whose facts do not fit beside its bytes", DISK_BYTES],
  ])("%s is answered with 507 and a sentence, and leaves nothing", async (_which, bytes) => {
    const folder = smallDisk();
    if (folder === undefined) return;
    const error = await saving(folder, chunks(bytes)).catch((thrown: unknown) => thrown);
    expect(errorAnswer(error)).toMatchObject({
      status: 507,
      body: {
        error: { code: "DISK_FULL", message: expect.stringContaining("disk is full"), hint: expect.any(String) },
      },
    });
    expect(readdirSync(folder)).toEqual([]);
    expect(await saving(folder, chunks(1_000))).toMatchObject({ filename: "a.txt", sizeBytes: 1_000 });
  });

  it.each(["ENOSPC", "EDQUOT"])("is known by %s", async (code) => {
    const folder = temporaryFolder();
    const bytes = new Readable({
      read() {
        this.destroy(Object.assign(new Error(`${code}: write`), { code }));
      },
    });
    const error = await saving(folder, bytes).catch((thrown: unknown) => thrown);
    expect(errorAnswer(error).status).toBe(507);
    expect(readdirSync(folder)).toEqual([]);
  });
});
