/** The setting says whether a stream that broke off may go on at another lane, which repeats what was sent. */
export const CONTINUE_STREAMS = ['on', 'off'] as const;
export type ContinueStreams = (typeof CONTINUE_STREAMS)[number];
