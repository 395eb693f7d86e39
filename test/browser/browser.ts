import { existsSync } from 'node:fs';
import { executablePath } from '../support/browser/launch';

export { launchBrowser, openContext, withPage } from '../support/browser/launch';

/** Every theme and every width once. `npm run prove:pages` looks at each page in all four pairs. */
export const viewings = [
  { theme: 'light', width: 1280 },
  { theme: 'dark', width: 360 },
] as const;

/** Where there are many pages: one after the other in one of the two. */
export const eachOnce = (paths: readonly string[]) =>
  paths.map((path, place) => ({ path, ...viewings[place % 2 === 0 ? 0 : 1] }));

const mustRun = process.env.CI === 'true';

/** Listed as skipped where there is no Chromium, but never on the build machine. */
export const describeWithBrowser = existsSync(executablePath) || mustRun ? describe : describe.skip;
