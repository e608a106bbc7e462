/** Several bots on one kind of fake platform, in turn, and what they took beside each other. */
import { type Load, type Measured, measure, median, type Platform, type Subject, startPlatform } from "./measure.js";

/** By label, one entry a round. */
export type Results = Map<string, Measured[]>;

/** A fresh platform a round and a subject: no leftovers of the one before. */
export async function compare(
  name: Platform["name"],
  subjects: readonly ((platform: Platform) => Subject)[],
  { rounds, ...load }: Load & { rounds: number },
): Promise<Results> {
  const results: Results = new Map();
  for (let round = 0; round < rounds; round++)
    for (const make of subjects) {
      const platform = await startPlatform(name);
      try {
        const subject = make(platform);
        const measured = await measure(platform, subject, load);
        results.set(subject.label, [...(results.get(subject.label) ?? []), measured]);
      } finally {
        platform.stop();
      }
    }
  return results;
}

/** A program that is told by its environment where the platform is. */
export function bot(label: string, file: string): (platform: Platform) => Subject {
  return ({ url, facts }) => ({ label, command: [file], env: { API_URL: url, TOKEN: String(facts.token) } });
}

/** Prints the medians. */
export function printTable(name: Platform["name"], results: Results): void {
  console.table(
    [...results].map(([label, rounds]) => {
      const of = (key: keyof Measured) => Math.round(median(rounds.map((one) => one[key])));
      return {
        [name]: label,
        "messages/s": of("messagesPerSecond"),
        "CPU µs/message": of("cpuMicrosPerMessage"),
        "first answer ms": of("readyMs"),
        "idle MB": of("idleMb"),
        "peak MB": of("loadedMb"),
      };
    }),
  );
}

/** `--messages N --chats N --rounds N`, and further options of a benchmark. */
export const LOAD_OPTIONS = {
  messages: { type: "string", default: "20000" },
  chats: { type: "string", default: "200" },
  rounds: { type: "string", default: "3" },
} as const;

export function readLoad(values: { messages: string; chats: string; rounds: string }): Load & { rounds: number } {
  return { messages: Number(values.messages), chats: Number(values.chats), rounds: Number(values.rounds) };
}
