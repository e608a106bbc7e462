/** Which entries of an argument list only a shell reads as more than text. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { argumentList, shellMarkProblems } from "../../src/lib/process/argument-list.js";

const list = argumentList(z.string(), { hasSh: true });

describe("an argument list", () => {
  it.each(["&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1"])("has no %s as an entry", (mark) => {
    const { error } = list.safeParse(["npm", "run", "a", mark, "b c"]);
    expect(error?.issues).toMatchObject([
      { path: [3], message: expect.stringContaining(`write sh: "npm run a ${mark} 'b c'" in place of command`) },
    ]);
    expect(shellMarkProblems(["npm", mark], "command")[0]?.message).toMatch(/write \["\/bin\/sh", "-c", "npm .+"\]$/);
  });

  it("has no mark behind a find that takes none", () => {
    for (const [mark, ...rest] of [[">", "out"], ["|", "wc"], ["2>&1"]] as [string, ...string[]][])
      expect(shellMarkProblems(["find", ".", "-type", "f", mark, ...rest], "sh")[0]?.index).toBe(4);
  });

  it.each([
    [["find", ".", "-name", "&"]],
    [["find", ".", "-exec", "grep", "|", "{}", ";"]],
    [["find", ".", "-name", "*.tmp", "-exec", "rm", "{}", ";"]],
    [["/usr/bin/cut", "-d", "|", "-f", "2"]],
    [["sort", "-t", ";", "a.csv"]],
    [["gawk", "-F", "|", "{ print $1 }"]],
    [["tr", ";", ","]],
    [["expr", "a", "<", "b"]],
    [["git", "log", "--grep=a && b"]],
    [["sh", "-c", "a && b"]],
  ])("may have one that the program takes itself: %j", (command) => {
    expect(list.safeParse(command).error).toBeUndefined();
  });
});
