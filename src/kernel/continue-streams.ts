/** Whether an interrupted stream can continue at another lane, which repeats what was sent. */
export const CONTINUE_STREAMS = ['on', 'off'] as const;
export type ContinueStreams = (typeof CONTINUE_STREAMS)[number];
