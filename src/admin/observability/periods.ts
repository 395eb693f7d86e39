/** In hours: a day, a week, thirty days. */
export const periods = [24, 168, 720] as const;
