import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';

export const executablePath = process.env.CHROMIUM_PATH ?? '/usr/bin/chromium';

export type Theme = 'light' | 'dark';
export const themes: readonly Theme[] = ['light', 'dark'];
export const widths: readonly number[] = [1280, 360];

const launchArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath, args: launchArguments, timeout: 30_000 });
}

export interface Viewing {
  theme: Theme;
  width: number;
  height?: number;
}

export function openContext(
  browser: Browser,
  { theme, width, height = 900 }: Viewing,
): Promise<BrowserContext> {
  return browser.newContext({
    colorScheme: theme,
    viewport: { width, height },
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  });
}

/** Runs `look` on a page of its own, which is always closed. */
export async function withPage<Result>(
  browser: Browser,
  viewing: Viewing,
  look: (page: Page, context: BrowserContext) => Promise<Result>,
): Promise<Result> {
  const context = await openContext(browser, viewing);
  context.setDefaultTimeout(10_000);
  try {
    return await look(await context.newPage(), context);
  } finally {
    await context.close();
  }
}
