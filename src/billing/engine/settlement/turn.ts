/** The requests of one turn of the event loop are journalled together, and those that wait for the commit together. */
export interface Turn {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  /** How many of them are not committed. */
  open: number;
  journalled: boolean;
  /** Its callers were told that their answers could not be recorded: unless it is committed, it must not be. */
  expired: boolean;
}

export const newTurn = (): Turn => ({
  ...Promise.withResolvers<void>(),
  open: 0,
  journalled: false,
  expired: false,
});
