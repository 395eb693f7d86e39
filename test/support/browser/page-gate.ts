import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { changeViewing, type Viewing } from './launch';

const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const standards = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

export interface PageFaults {
  accessibility: string[];
  policy: string[];
  console: string[];
  overflow: string[];
}

export const noFaults: PageFaults = { accessibility: [], policy: [], console: [], overflow: [] };

interface AxeViolation {
  id: string;
  nodes: { html: string; failureSummary?: string }[];
}

/**
 * The gate opens an address, does there what `prepare` says, and returns everything that is wrong with what
 * it shows. Then it looks in other viewings, without opening it again.
 */
export async function checkPage(
  page: Page,
  address: string,
  prepare?: () => Promise<void>,
  others: readonly Viewing[] = [],
): Promise<PageFaults> {
  const faults: PageFaults = { accessibility: [], policy: [], console: [], overflow: [] };
  page.on('console', (message) => {
    if (message.type() !== 'error') return;
    // An error page is a page that answers an error: the browser notes that of the page itself.
    if (message.location().url === address && message.text().startsWith('Failed to load')) return;
    const list = message.text().includes('Content Security Policy') ? faults.policy : faults.console;
    list.push(message.text());
  });
  page.on('pageerror', (error) => faults.console.push(error.message));
  await page.goto(address, { waitUntil: 'load' });
  await page.waitForSelector('[data-theme-switch]:not([hidden])');
  await prepare?.();
  // The source is evaluated over the debugging protocol: the page's own policy would refuse a script of ours.
  await page.evaluate(`${axeSource};0`);
  faults.accessibility = await accessibilityFaults(page);
  faults.overflow = await overflowingElements(page);
  for (const viewing of others) {
    await changeViewing(page, viewing);
    const named = (fault: string): string => `${viewing.theme}, ${viewing.width} px: ${fault}`;
    faults.accessibility.push(...(await accessibilityFaults(page)).map(named));
    faults.overflow.push(...(await overflowingElements(page)).map(named));
  }
  return faults;
}

async function accessibilityFaults(page: Page): Promise<string[]> {
  const options = JSON.stringify({
    resultTypes: ['violations'],
    // No rule of these standards reads style sheets, and nothing plays sound.
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

/** A page wider than its window, with the elements that stick out of it and do not scroll on their own. */
function overflowingElements(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const width = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= width) return [];
    return [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > width + 1)
      .map((element) => element.outerHTML.slice(0, 160));
  })()`);
}
