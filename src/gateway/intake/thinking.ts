/** Thinking of one answer, if neither the request nor the facts about its model bound it. */
export const MAX_THINKING_TOKENS = 128_000;
