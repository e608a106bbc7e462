/** Whether a text has anything for the template language in it. */
export function isTemplate(text: string): boolean {
  return text.includes("{{") || text.includes("{%");
}
