/**
 * Property tests draw the same cases on every run, so that a red run is a change's fault and can be repeated. `FC_SEED=random`
 * draws others, to hunt: a failure prints its seed, and `FC_SEED=<seed>` brings it back.
 */
import fc from "fast-check";

const wanted = process.env.FC_SEED ?? "20261121";
if (wanted !== "random") fc.configureGlobal({ seed: Number(wanted) });
