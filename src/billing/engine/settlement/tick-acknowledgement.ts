/** Acknowledgement of all requests that are settled in one tick of the event loop and share one journal write. */
export interface TickAcknowledgement {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  uncommitted: number;
  isJournalled: boolean;
  /** Set when the callers were told that their requests could not be recorded: uncommitted ones must not be charged. */
  isExpired: boolean;
}

export const newTickAcknowledgement = (): TickAcknowledgement => ({
  ...Promise.withResolvers<void>(),
  uncommitted: 0,
  isJournalled: false,
  isExpired: false,
});
