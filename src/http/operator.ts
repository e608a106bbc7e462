/** The logged-in person as an operator: for commands that come over HTTP. */
import type { Operator } from "../domain/chat/identity.js";
import type { Person } from "./people.js";
import type { HttpDeps } from "./route.js";

export function operatorOf({ id, name }: Person, gateway: HttpDeps["gateway"]): Operator {
  const role = gateway.identify("web", id);
  return { platform: "web", userId: id, displayName: name, role };
}
