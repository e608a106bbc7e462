/** Rules for each platform that is reached over HTTP, as docs/platforms.md and docs/limits.md promise them for all of these platforms. */

/**
 * The pause after a page of a proxy or a portal in place of the platform's answer: the next request may reach the platform, and the page
 * shows nothing about the message.
 */
export const PAGE_PAUSE_MS = 10_000;

/** A token that is refused may be accepted again: the platform is asked at this interval. */
export const TOKEN_PAUSE_MS = 60_000;

/** How long a run that failed waits for its sends, before the next one starts. A stop has no limit here: the gateway sets it. */
export const DRAIN_WITHIN_MS = 10_000;

/** Connections for requests to a platform, at most. */
export const CONNECTIONS = 256;
