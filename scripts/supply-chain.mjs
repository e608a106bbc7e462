/**
 * `npm run supply-chain`: what a release ships of others. Known vulnerabilities (where the registry answers `npm audit`), licences of all
 * runtime packages, and a CycloneDX list of them in dist/sbom.json. Exits with 1 on a vulnerability or a licence that is not checked yet.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

/** Checked: they allow use, change and distribution in a product under the MIT licence. NOTICE names those that ask for attribution. */
const LICENCES = new Set([
  "(BSD-2-Clause OR MIT OR Apache-2.0)",
  "(ISC AND CC-BY-3.0)",
  "(MIT OR WTFPL)",
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
  "MPL-2.0",
  "PSF-2.0",
  "Python-2.0",
  "Unlicense",
]);
/** Packages whose licence is a text of their own, read by hand. */
const READ_BY_HAND = {
  "dejavu-fonts-ttf": "Bitstream Vera and public domain",
  "json-schema": "AFL-2.1 OR BSD-3-Clause",
};

const results = [audit(), licences(), sbom()];
for (const { name, state, detail } of results) console.log(`${state.padEnd(11)} ${name}: ${detail}`);
process.exitCode = results.some(({ state }) => state === "failed") ? 1 : 0;

function audit() {
  const name = "known vulnerabilities";
  const { stdout } = npm(["audit", "--omit=dev", "--json"]);
  const report = parsed(stdout);
  if (report?.metadata?.vulnerabilities === undefined)
    return { name, state: "not checked", detail: "the registry does not answer `npm audit`; run this where it does" };
  const { total, ...bySeverity } = report.metadata.vulnerabilities;
  const counts = Object.entries(bySeverity).filter(([, count]) => count > 0);
  if (counts.length === 0) return { name, state: "passed", detail: "none" };
  const packages = Object.keys(report.vulnerabilities ?? {}).join(", ");
  return {
    name,
    state: "failed",
    detail: `${counts.map(([severity, count]) => `${count} ${severity}`).join(", ")} in ${packages}`,
  };
}

function licences() {
  const name = "licences";
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const runtime = Object.entries(packages).filter(
    ([path, { dev, devOptional }]) => path !== "" && !dev && !devOptional,
  );
  const unknown = runtime
    .map(([path, { license }]) => ({ name: path.replace(/^.*node_modules\//, ""), license }))
    .filter((entry) => !LICENCES.has(entry.license) && !(entry.name in READ_BY_HAND));
  if (unknown.length === 0) return { name, state: "passed", detail: `${runtime.length} runtime packages` };
  return {
    name,
    state: "failed",
    detail: unknown.map((entry) => `${entry.name} (${entry.license ?? "none stated"})`).join(", "),
  };
}

function sbom() {
  const name = "list of components";
  const { stdout, status } = npm(["sbom", "--omit=dev", "--sbom-format=cyclonedx"]);
  const count = parsed(stdout)?.components?.length;
  if (status !== 0 || !count) return { name, state: "failed", detail: "`npm sbom` failed; run `npm ci` first" };
  mkdirSync("dist", { recursive: true });
  writeFileSync("dist/sbom.json", stdout);
  return { name, state: "passed", detail: `${count} components in dist/sbom.json` };
}

function npm(args) {
  return spawnSync("npm", args, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
