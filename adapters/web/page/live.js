/** Live changes: one stream that goes on where it stopped, however often it breaks. */
import { request, withPageKey } from "./api.js";

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 8000;
/** The server gives a sign of life every 15 s. */
const SILENCE_MS = 40_000;
/** Fewer failures in a row are a short break. */
const TRIES_UNTIL_OFFLINE = 2;

/**
 * `on`: `message(message)`, `rooms()`, `reset()`, `state("online" | "connecting" | "offline")`, `loggedOut()`.
 * Returns a function that ends it.
 */
export function followChanges(after, on) {
  let seq = after;
  let source;
  let tries = 0;
  let timer;
  let watchdog;
  let ended = false;

  const heard = (event) => {
    if (event.lastEventId) seq = Math.max(seq, Number(event.lastEventId));
    clearTimeout(watchdog);
    watchdog = setTimeout(broken, SILENCE_MS);
  };

  function open() {
    source = new EventSource(withPageKey(`/api/events?after=${seq}`));
    source.addEventListener("hello", (event) => {
      tries = 0;
      heard(event);
      on.state("online");
    });
    source.addEventListener("message", (event) => {
      heard(event);
      on.message(JSON.parse(event.data));
    });
    source.addEventListener("rooms", (event) => {
      heard(event);
      on.rooms();
    });
    source.addEventListener("reset", (event) => {
      tries = 0;
      // The stream's place is another database's or far away: take it as it is.
      seq = Number(event.lastEventId);
      heard(event);
      on.state("online");
      on.reset();
    });
    source.addEventListener("heartbeat", heard);
    source.addEventListener("error", broken);
  }

  function broken() {
    if (ended) return;
    source?.close();
    clearTimeout(watchdog);
    clearTimeout(timer);
    tries++;
    on.state(tries > TRIES_UNTIL_OFFLINE ? "offline" : "connecting");
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (tries - 1));
    timer = setTimeout(again, wait * (0.7 + Math.random() * 0.3));
  }

  /** A stream cannot show why it was refused, so the session is asked for first. */
  async function again() {
    try {
      await request("GET", "/api/me");
    } catch (error) {
      if (ended) return;
      if (error.isLoggedOut) return on.loggedOut();
      return broken();
    }
    if (!ended) open();
  }

  const hurry = () => {
    if (ended || source?.readyState !== EventSource.CLOSED) return;
    clearTimeout(timer);
    void again();
  };
  /** A page on the server's own machine may still reach it without a network, so that is tried at once. */
  const onOffline = () => {
    if (ended) return;
    // A failure now is shown as one, not as a short break.
    tries = Math.max(tries, TRIES_UNTIL_OFFLINE);
    source?.close();
    clearTimeout(watchdog);
    clearTimeout(timer);
    void again();
  };
  addEventListener("online", hurry);
  addEventListener("offline", onOffline);
  document.addEventListener("visibilitychange", hurry);
  on.state("connecting");
  open();

  return () => {
    ended = true;
    source?.close();
    clearTimeout(timer);
    clearTimeout(watchdog);
    removeEventListener("online", hurry);
    removeEventListener("offline", onOffline);
    document.removeEventListener("visibilitychange", hurry);
  };
}
