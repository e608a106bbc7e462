/** Part of the reason of a delivery that would have expired before its next try: it is given up at once, as it would be when it expires. */
export const GIVEN_UP = "given up before the next try";
/** Part of the reason of a delivery that was sent and got no answer. */
export const IN_DOUBT = "may or may not have arrived";
