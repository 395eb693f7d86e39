import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { changeView, type ViewOptions } from './launch';

const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const standards = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

export interface PageIssues {
  accessibility: string[];
  policy: string[];
  console: string[];
  overflow: string[];
}

export const noIssues: PageIssues = { accessibility: [], policy: [], console: [], overflow: [] };

interface AxeViolation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

/** Opens an address, runs `prepare` and returns all issues found. Then checks the other views without reloading. */
export async function checkPage(
  page: Page,
  address: string,
  prepare?: () => Promise<void>,
  others: readonly ViewOptions[] = [],
): Promise<PageIssues> {
  const faults: PageIssues = { accessibility: [], policy: [], console: [], overflow: [] };
  page.on('console', (message) => {
    if (message.type() !== 'error') return;
    // Ignored: Chromium logs an error for a page that itself responds with an error status.
    if (message.location().url === address && message.text().startsWith('Failed to load')) return;
    const list = message.text().includes('Content Security Policy') ? faults.policy : faults.console;
    list.push(message.text());
  });
  page.on('pageerror', (error) => faults.console.push(error.message));
  await page.goto(address, { waitUntil: 'load' });
  await page.waitForSelector('[data-theme-switch]:not([hidden])');
  await prepare?.();
  // Evaluated over the debugging protocol, because the page's CSP would block an injected script.
  await page.evaluate(`${axeSource};0`);
  faults.accessibility = await findAccessibilityIssues(page);
  faults.overflow = await findOverflowingElements(page);
  for (const viewing of others) {
    await changeView(page, viewing);
    const withView = (fault: string): string => `${viewing.theme}, ${viewing.width} px: ${fault}`;
    faults.accessibility.push(...(await findAccessibilityIssues(page)).map(withView));
    faults.overflow.push(...(await findOverflowingElements(page)).map(withView));
  }
  return faults;
}

async function findAccessibilityIssues(page: Page): Promise<string[]> {
  const options = JSON.stringify({
    resultTypes: ['violations'],
    // No rule in use reads style sheets or plays sound.
    preload: false,
    runOnly: { type: 'tag', values: standards },
  });
  const violations = await page.evaluate<AxeViolation[]>(
    `axe.run(document, ${options}).then((result) => result.violations)`,
  );
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary ?? ''}`),
  );
}

/** Returns elements that stick out of a page wider than its window and do not scroll themselves. */
function findOverflowingElements(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    return [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > width + 1)
      .map((element) => element.outerHTML.slice(0, 160));
  })()`);
}
