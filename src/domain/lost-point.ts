/**
 * Why a hook at this point never runs: the plugin that declared it was removed, or its new version does not declare it. Undefined: it is
 * there.
 */
export function lostPoint(point: string, plugins: readonly { points: readonly string[] }[]): string | undefined {
  if (!point.startsWith("plugin:") || plugins.some(({ points }) => points.includes(point))) return undefined;
  const [, owner] = point.split(":");
  return `no loaded plugin declares ${point} any more, so the hook never runs: declare the point in the plugin "${owner}" again, or remove the hook`;
}
