/** Reads server-sent events as a page does. */
export interface LiveEvent {
  id?: string;
  event: string;
  // biome-ignore lint/suspicious/noExplicitAny: data of all events, read by the tests field by field
  data: any;
}

export interface EventReader {
  events: LiveEvent[];
  /** Resolves when the server ended the stream. */
  ended: Promise<void>;
  close(): void;
}

export async function readEvents(url: string, headers: Record<string, string> = {}): Promise<EventReader> {
  const ending = new AbortController();
  const response = await fetch(url, { headers, signal: ending.signal });
  if (!response.ok || !response.body) throw new Error(`${response.status} ${await response.text()}`);
  const events: LiveEvent[] = [];
  const { body } = response;
  const read = async () => {
    let text = "";
    for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) events.push(parse(block));
    }
  };
  // Whether it ended by us, by the server or by a cut line is the same to a page.
  const ended = read().catch(() => {});
  return { events, ended, close: () => ending.abort() };
}

function parse(block: string): LiveEvent {
  const fields = Object.fromEntries(
    block.split("\n").map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]),
  );
  return {
    id: fields.id || undefined,
    event: fields.event ?? "message",
    data: JSON.parse(fields.data ?? "null"),
  };
}
