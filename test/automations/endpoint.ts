/** A real HTTP server on loopback that answers as a test scripts it, and in every bad way that the network knows. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Seen {
  method: string;
  path: string;
  headers: Record<string, string | undefined>;
  body: string;
}

/** An answer, or what to do with the connection. */
export type Behaviour =
  | { status: number; headers?: Record<string, string>; body?: string | Buffer }
  /** Cuts the connection before an answer. */
  | "reset"
  /** Never answers. */
  | "hang"
  /** Sends headers and half a body, then nothing more. */
  | "half"
  | ((request: Seen, response: ServerResponse) => void);

export interface Endpoint {
  url: string;
  port: number;
  seen: Seen[];
  /** In this order; the last one stays. */
  script(...behaviours: Behaviour[]): void;
  close(): Promise<void>;
}

export async function openEndpoint(): Promise<Endpoint> {
  let script: Behaviour[] = [{ status: 200 }];
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    void read(request).then((one) => {
      seen.push(one);
      const next = script.length > 1 ? script.shift() : script[0];
      behave(next ?? { status: 200 }, one, request, response);
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    seen,
    script(...behaviours) {
      script = behaviours;
      seen.length = 0;
    },
    close: () =>
      new Promise((done) => {
        server.closeAllConnections();
        server.close(() => done());
      }),
  };
}

async function read(request: IncomingMessage): Promise<Seen> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const headers = Object.fromEntries(
    Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(", ") : value]),
  );
  return {
    method: request.method ?? "",
    path: request.url ?? "",
    headers,
    body: Buffer.concat(chunks).toString(),
  };
}

function behave(next: Behaviour, one: Seen, request: IncomingMessage, response: ServerResponse): void {
  if (typeof next === "function") {
    next(one, response);
    return;
  }
  if (next === "hang") return;
  if (next === "reset") {
    request.socket.resetAndDestroy();
    return;
  }
  if (next === "half") {
    response.writeHead(200, { "content-length": "100" });
    response.write("half of");
    return;
  }
  response.writeHead(next.status, next.headers ?? {});
  response.end(next.body ?? "");
}
