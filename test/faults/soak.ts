/**
 * `npm run soak [-- KILLS [MESSAGES]]`: after the rounds of all `*.soak.ts`, the long kill proof, by default with 240 kills and 3000
 * messages. Of the kills 45 % are SIGKILL and 25 % SIGTERM; the rest are crashes by messages on which a plugin exits or aborts, each
 * until it is a dead letter. In every second life of the process, its clock moves backward or forward. Prints one row per platform:
 *
 * messages       written by people, without the crashing ones        held          sends in doubt, for an operator (Telegram)
 * lost           not in the inbox                                    heldByStop    of these, left in doubt by a SIGTERM
 * unsettled      in the inbox and not done                           deadLetters   given up, without the crashing messages
 * unanswered     no reply, and not held                              crashing      messages that crash the process
 * doubled        more than one reply                                 crashingDead  of these, dead letters
 * reordered      replied to after a later message
 * aside          the same, of replies in doubt that let later ones pass (docs/platforms.md)
 *
 * Exits 1 when lost to reordered, heldByStop or deadLetters is not 0, a crashing message is no dead letter, or a stop has an exit code.
 */
import { problemsOf } from "./kill-count.js";
import { killProof } from "./kill-proof.js";

const kills = Number(process.argv[2] ?? 240);
const attempts = 8;
const SIGTERM = Math.ceil(kills * 0.25);
const crash = Math.ceil((kills * 0.3) / attempts);
const SIGKILL = Math.max(1, kills - SIGTERM - crash * attempts);
const report = await killProof({
  plan: { SIGKILL, SIGTERM, crash },
  attempts,
  perLife: Math.max(1, Math.ceil(Number(process.argv[3] ?? 3000) / kills / 3)),
  onEnding: (endings, messages) => process.stderr.write(`\r${JSON.stringify(endings)}, ${messages} messages`),
});
process.stderr.write("\n");
console.table(report.platforms);
console.table([{ ...report.endings, ...report.clockSteps }]);
console.log(`${report.seconds} s; ${report.rerun} handlers were cut off and ran again under the same dispatch id.`);
const problems = problemsOf(report);
for (const line of problems) console.log(line);
process.exitCode = problems.length > 0 ? 1 : 0;
