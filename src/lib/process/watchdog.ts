/**
 * Ends our programs when the gateway is killed: a small shell script whose standard input closes when the gateway is gone, however
 * that came about. It gets every group, and on Linux it looks for the mark in the environment of all processes, too: that
 * finds programs that left their group, and a program that started in the moment before its group could be passed on.
 */
import { spawn } from "node:child_process";

export interface Watchdog {
  add(group: number): void;
  remove(group: number): void;
  /** False when it was ended from outside: then another one is needed. */
  isWatching(): boolean;
  stop(): void;
}

/** A program that is being started holds our end of the pipe until it runs with its mark, so that none comes after the look. */
const SCRIPT = `
mark=$1
groups=' '
while read -r what group; do
  case $what in
    add) groups="$groups$group " ;;
    remove) case $groups in *" $group "*) groups="\${groups%%" $group "*} \${groups#*" $group "}" ;; esac ;;
  esac
done
end() {
  for group in $groups; do kill -s "$1" -- "-$group"; done
  grep -l -F "$mark" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do kill -s "$1" "$pid"; echo "$pid"; done
}
[ "$groups$(end TERM)" = ' ' ] && exit 0
sleep 1
end KILL
`;

/** `mark`: the start of the marks of all our programs. */
export function startWatchdog(env: Readonly<Record<string, string>>, mark: string): Watchdog {
  const groups = new Set<number>();
  // A session of its own: keys typed at the gateway's terminal do not reach it.
  const child = spawn("/bin/sh", ["-c", SCRIPT, "hookgate-watchdog", mark], {
    env: { ...env },
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  // Without a shell there is no watchdog; `stop` and `sweep` remain.
  child.on("error", () => {});
  child.stdin.on("error", () => {});
  child.unref();
  if ("unref" in child.stdin && typeof child.stdin.unref === "function") child.stdin.unref();
  return {
    add(group) {
      groups.add(group);
      child.stdin.write(`add ${group}\n`);
    },
    remove(group) {
      if (groups.delete(group)) child.stdin.write(`remove ${group}\n`);
    },
    isWatching: () => child.exitCode === null && child.signalCode === null,
    stop: () => child.stdin.end(),
  };
}
