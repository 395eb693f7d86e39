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

export interface ViewOptions {
  theme: Theme;
  width: number;
  height?: number;
}

export function openContext(
  browser: Browser,
  { theme, width, height = HEIGHT }: ViewOptions,
): Promise<BrowserContext> {
  return browser.newContext({
    colorScheme: theme,
    viewport: { width, height },
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  });
}

interface PooledPage {
  readonly context: BrowserContext;
  readonly page: Page;
}

/** Idle clean page per browser, reused because starting a renderer takes longer than a check. */
const idlePages = new WeakMap<Browser, PooledPage>();

/** Runs `look` on a page without cookies, storage or listeners from an earlier run. */
export async function withPage<Result>(
  browser: Browser,
  viewing: ViewOptions,
  look: (page: Page, context: BrowserContext) => Promise<Result>,
): Promise<Result> {
  const pooledPage = await takePage(browser, viewing);
  let isClean = false;
  try {
    const result = await look(pooledPage.page, pooledPage.context);
    isClean = await resetPage(pooledPage);
    return result;
  } finally {
    if (isClean && !idlePages.has(browser)) idlePages.set(browser, pooledPage);
    else await pooledPage.context.close();
  }
}

async function takePage(browser: Browser, viewing: ViewOptions): Promise<PooledPage> {
  const idlePage = idlePages.get(browser);
  if (idlePage !== undefined) {
    idlePages.delete(browser);
    await changeView(idlePage.page, viewing);
    return idlePage;
  }
  const context = await openContext(browser, viewing);
  context.setDefaultTimeout(30_000);
  return { context, page: await context.newPage() };
}

export async function changeView(page: Page, { theme, width, height = HEIGHT }: ViewOptions): Promise<void> {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
  await page.setViewportSize({ width, height });
}

/** Returns true if no state is left on the page. Pages that opened another page are not reused. */
async function resetPage({ context, page }: PooledPage): Promise<boolean> {
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
