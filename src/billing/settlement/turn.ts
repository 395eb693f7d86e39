/** The requests of one turn of the event loop are journalled together, and those that wait for the commit together. */
export interface Turn {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  /** How many of them are not committed. */
  open: number;
  journalled: boolean;
}

export const newTurn = (): Turn => ({ ...Promise.withResolvers<void>(), open: 0, journalled: false });
