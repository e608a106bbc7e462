/** The lanes of commands: a conversation has one for its commands, and one for each command that may take long. */

/** In the name of a lane it follows the address; in the name of a slow command's lane, `:` and the id of the event follow it. */
export const COMMAND_LANE = "#commands";

export const isCommandLane = (lane: string): boolean => lane.includes(COMMAND_LANE);
