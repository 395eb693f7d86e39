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
  return chromium.launch({ executablePath, args: launchArguments, timeout: 60_000 });
}

const HEIGHT = 900;

export interface Viewing {
  theme: Theme;
  width: number;
  height?: number;
}

export function openContext(
  browser: Browser,
  { theme, width, height = HEIGHT }: Viewing,
): Promise<BrowserContext> {
  return browser.newContext({
    colorScheme: theme,
    viewport: { width, height },
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  });
}

interface Seat {
  readonly context: BrowserContext;
  readonly page: Page;
}

/** To start a renderer takes longer than a look at a page: one that is free and clean again serves the next. */
const freeSeats = new WeakMap<Browser, Seat>();

/** Runs `look` on a page without cookies, storage and listeners of an earlier look. */
export async function withPage<Result>(
  browser: Browser,
  viewing: Viewing,
  look: (page: Page, context: BrowserContext) => Promise<Result>,
): Promise<Result> {
  const seat = await takeSeat(browser, viewing);
  let isClean = false;
  try {
    const result = await look(seat.page, seat.context);
    isClean = await clean(seat);
    return result;
  } finally {
    if (isClean && !freeSeats.has(browser)) freeSeats.set(browser, seat);
    else await seat.context.close();
  }
}

async function takeSeat(browser: Browser, viewing: Viewing): Promise<Seat> {
  const free = freeSeats.get(browser);
  if (free !== undefined) {
    freeSeats.delete(browser);
    await changeViewing(free.page, viewing);
    return free;
  }
  const context = await openContext(browser, viewing);
  context.setDefaultTimeout(30_000);
  return { context, page: await context.newPage() };
}

export async function changeViewing(page: Page, { theme, width, height = HEIGHT }: Viewing): Promise<void> {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  await page.setViewportSize({ width, height });
}

/**
 * Nothing of the last look is left where this returns true. A page that another one opened is not worth the
 * trouble.
 */
async function clean({ context, page }: Seat): Promise<boolean> {
  if (page.isClosed() || context.pages().length !== 1) return false;
  page.removeAllListeners();
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await context.clearCookies();
  await context.clearPermissions();
  return page.evaluate('localStorage.clear(), sessionStorage.clear()').then(
    () => true,
    () => false,
  );
}
