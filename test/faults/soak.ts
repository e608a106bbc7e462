/** `npm run soak [-- KILLS [MESSAGES]]`: the long kill proof. Prints the numbers; exits 1 when one is wrong. */
import { killProof } from "./kill-proof.js";

const kills = Number(process.argv[2] ?? 220);
const perLife = Math.max(1, Math.ceil(Number(process.argv[3] ?? 3000) / kills / 3));
const report = await killProof({
  kills,
  perLife,
  onLife: (life, said) => process.stderr.write(`\r${life} of ${kills} kills, ${said} messages`),
});
process.stderr.write("\n");
console.table(report.platforms);
console.log(
  `${report.kills} kills in ${report.seconds} s; ${report.rerun} handlers were cut off and ran again under the same dispatch id.`,
);
const wrong = Object.values(report.platforms).some(
  ({ said, settledOnce, lost, unanswered, doubled }) => settledOnce !== said || lost + unanswered + doubled > 0,
);
for (const line of report.badAttempts) console.log(`attempts out of order: ${line}`);
if (report.untold > 0) console.log(`${report.untold} deliveries were sent and no hook was told`);
process.exitCode = wrong || report.badAttempts.length + report.untold > 0 ? 1 : 0;
