/** Copies what the compiler leaves behind (the web chat's page) into dist. */
import { cpSync, existsSync } from "node:fs";

for (const folder of ["adapters/web/page"])
  if (existsSync(folder)) cpSync(folder, `dist/${folder}`, { recursive: true });
