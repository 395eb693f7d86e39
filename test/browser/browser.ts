import { existsSync } from 'node:fs';
import { executablePath } from '../support/browser/launch';

export { launchBrowser, openContext, themes, widths, withPage } from '../support/browser/launch';

const mustRun = process.env.CI === 'true';

/** Listed as skipped where there is no Chromium, but never on the build machine. */
export const describeWithBrowser = existsSync(executablePath) || mustRun ? describe : describe.skip;
