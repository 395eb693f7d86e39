/** The answer to all requests that are settled in one tick of the event loop. They share one journal write. */
export interface TickAcknowledgement {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  /** So many of its requests are not committed. */
  uncommitted: number;
  journalled: boolean;
  /** Its callers were told that their answers could not be recorded: what is not committed must not be charged. */
  expired: boolean;
}

export const newTickAcknowledgement = (): TickAcknowledgement => ({
  ...Promise.withResolvers<void>(),
  uncommitted: 0,
  journalled: false,
  expired: false,
});
