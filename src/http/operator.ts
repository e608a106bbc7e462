/** The logged-in person as an operator: for commands that come over HTTP. */
import type { Operator } from "../domain/identity.js";
import type { Person } from "./people.js";
import type { HttpParts } from "./route.js";

export function operatorOf({ id, name }: Person, gateway: HttpParts["gateway"]): Operator {
  const role = gateway.identify("web", id);
  return { platform: "web", userId: id, displayName: name, role };
}
