/**
 * Which of our programs holds the other end of a connection, on Linux: the system's table of connections names its socket, and a process
 * that carries our mark has that open. Elsewhere no program is found.
 */
import { readdir, readFile, readlink } from "node:fs/promises";

/** The ports of a connection on this machine, as we see it. */
export interface LocalConnection {
  localPort: number;
  remotePort: number;
}

/** The value of a variable in the environment of our program that is calling. */
export async function variableOfCaller(
  connection: LocalConnection,
  findOurs: () => Promise<number[]>,
  variable: string,
): Promise<string | undefined> {
  const sockets = await socketsOf(connection);
  if (sockets.size === 0) return undefined;
  for (const pid of await findOurs()) if (await hasOpen(pid, sockets)) return variableOf(pid, variable);
  return undefined;
}

/** `socket:[inode]` of the other end. https://www.kernel.org/doc/html/latest/networking/proc_net_tcp.html */
async function socketsOf({ localPort, remotePort }: LocalConnection): Promise<ReadonlySet<string>> {
  const tables = await Promise.all(["/proc/net/tcp", "/proc/net/tcp6"].map(textOf));
  const found = new Set<string>();
  for (const line of tables.join("\n").split("\n")) {
    const [, its, ours, , , , , , , inode] = line.trim().split(/\s+/);
    if (portOf(its) === remotePort && portOf(ours) === localPort && inode !== "0") found.add(`socket:[${inode}]`);
  }
  return found;
}

const portOf = (end: string | undefined) => Number.parseInt(end?.split(":")[1] ?? "", 16);

async function hasOpen(pid: number, sockets: ReadonlySet<string>): Promise<boolean> {
  try {
    const files = await readdir(`/proc/${pid}/fd`);
    const links = await Promise.all(files.map((file) => readlink(`/proc/${pid}/fd/${file}`).catch(() => "")));
    return links.some((link) => sockets.has(link));
  } catch {
    return false; // it ended
  }
}

async function variableOf(pid: number, name: string): Promise<string | undefined> {
  const variables = await textOf(`/proc/${pid}/environ`);
  const one = variables.split("\0").find((text) => text.startsWith(`${name}=`));
  return one?.slice(name.length + 1);
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => "");
}
