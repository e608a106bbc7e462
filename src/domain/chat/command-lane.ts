/** The lanes of commands: a conversation has one for its commands, and one for each command that may take long. */

/** Follows the address in the name of the lane; `:` and the id of the event follow it in that of a slow command. */
export const COMMAND_LANE = "#commands";

export const isCommandLane = (lane: string): boolean => lane.includes(COMMAND_LANE);
