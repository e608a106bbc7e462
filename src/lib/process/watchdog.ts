/**
 * Ends the groups when the gateway is killed: a small shell script that is told of every group, and whose standard input closes when
 * the gateway is gone, however that came about.
 */
import { spawn } from "node:child_process";

export interface Watchdog {
  add(group: number): void;
  remove(group: number): void;
  /** False when somebody ended it: then another one is needed. */
  isWatching(): boolean;
  stop(): void;
}

const SCRIPT = `
groups=' '
while read -r what group; do
  case $what in
    add) groups="$groups$group " ;;
    remove) case $groups in *" $group "*) groups="\${groups%%" $group "*} \${groups#*" $group "}" ;; esac ;;
  esac
done
[ "$groups" = ' ' ] && exit 0
for group in $groups; do kill -s TERM -- "-$group"; done
sleep 1
for group in $groups; do kill -s KILL -- "-$group"; done
`;

export function startWatchdog(env: Readonly<Record<string, string>>): Watchdog {
  const groups = new Set<number>();
  // A session of its own: what is typed at the gateway's terminal does not reach it.
  const child = spawn("/bin/sh", ["-c", SCRIPT], {
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
