/** Copies what the compiler leaves behind into dist: the web chat's page, and the schemas of the database. */
import { cpSync } from "node:fs";

for (const path of ["adapters/web/page", "src/store/schema.sql", "src/store/journal-schema.sql"])
  cpSync(path, `dist/${path}`, { recursive: true });
