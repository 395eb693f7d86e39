/** The first instant of a day, given as YYYY-MM-DD, by the clocks of a zone. */
export function startOfDay(day: string, timeZone: string): Date {
  const midnight = Date.parse(`${day}T00:00:00Z`);
  const guess = midnight - aheadOfUtc(midnight, timeZone);
  // Clocks may change between the two.
  return new Date(midnight - aheadOfUtc(guess, timeZone));
}

/** In milliseconds; the Swedish way to write an instant is that of ISO 8601. */
function aheadOfUtc(instant: number, timeZone: string): number {
  const second = Math.floor(instant / 1_000) * 1_000;
  const shown = new Date(second).toLocaleString('sv-SE', { timeZone });
  return Date.parse(`${shown.replace(' ', 'T')}Z`) - second;
}

/** The day after, as YYYY-MM-DD. */
export const dayAfter = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10);
