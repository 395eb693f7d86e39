import type { Browser } from 'playwright-core';
import type { PageFaults } from '../../test/support/browser/page-gate';
import { launchBrowser, themes, widths } from '../../test/support/browser/launch';
import { Findings, inParallel, runProof } from '../../test/system/findings';
import { servedPages } from '../../test/system/routes';
import { DemoSite } from './demo-site';
import { type Visit, visitsOf } from './visits';

const REQUESTS = 4_000;
const AT_ONCE = 2;
const SHOWN = 3;

const viewings = themes.flatMap((theme) => widths.map((width) => ({ theme, width })));

/**
 * Every page of the service, from its own list of routes, light and dark, wide and narrow. Each is accessible, within
 * its policy, without console errors, and no wider than the window. `--only <words>` opens the pages whose address
 * holds the words.
 */
async function main(): Promise<void> {
  const findings = new Findings('prove:pages');
  const place = process.argv.indexOf('--only');
  const only = place === -1 ? null : (process.argv[place + 1] ?? null);
  const site = await DemoSite.open(REQUESTS);
  const browser = await launchBrowser();
  try {
    const visits = await visitsOf(site);
    if (only === null) {
      const served = await servedPages(site.world.url);
      const missing = served.filter((route) => !visits.some((visit) => visit.route === route));
      findings.add('every page that is served is looked at', missing.length === 0, missing.join(' '));
    }
    const chosen = visits.filter(({ path }) => only === null || path.includes(only));
    await inParallel(AT_ONCE, chosen, (visit) => look(visit, browser, site, findings));
  } finally {
    await browser.close();
    await site.close();
  }
  findings.end();
}

async function look(visit: Visit, browser: Browser, site: DemoSite, findings: Findings): Promise<void> {
  const found: string[] = [];
  for (const viewing of viewings) {
    const faults = await site
      .look(browser, visit.as, viewing, visit.path, visit)
      .catch((error: unknown) => String(error).slice(0, 300));
    const words = typeof faults === 'string' ? [faults] : wordsOf(faults);
    found.push(...words.map((word) => `\n        ${viewing.theme} ${viewing.width}: ${word}`));
  }
  const more = found.length > SHOWN ? `\n        and ${found.length - SHOWN} more` : '';
  const who = `${visit.path} (${visit.as})`;
  findings.add(who, found.length === 0, found.slice(0, SHOWN).join('') + more);
}

const wordsOf = (faults: PageFaults): string[] =>
  Object.entries(faults).flatMap(([kind, list]) => (list as string[]).map((text) => `${kind} ${text}`));

runProof(main);
