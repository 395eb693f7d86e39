import type { Browser } from 'playwright-core';
import type { PageIssues } from '../../test/support/browser/page-gate';
import { launchBrowser, themes, widths } from '../../test/support/browser/launch';
import { Findings, inParallel, runProof } from '../../test/system/findings';
import { servedPages } from '../../test/system/routes';
import { DemoSite } from './demo-site';
import { type PageVisit, visitsOf } from './visits';

const REQUESTS = 4_000;
const CONCURRENCY = 2;
const MAX_FAULTS_SHOWN = 3;

const viewings = themes.flatMap((theme) => widths.map((width) => ({ theme, width })));

/**
 * Checks every page of the service's route list in both themes and widths: accessible, within its CSP, without console
 * errors, no wider than the window. `--only <text>` selects pages by path.
 */
async function main(): Promise<void> {
  const findings = new Findings('prove:pages');
  const index = process.argv.indexOf('--only');
  const pathFilter = index === -1 ? null : (process.argv[index + 1] ?? null);
  const site = await DemoSite.open(REQUESTS);
  const browser = await launchBrowser();
  try {
    const visits = await visitsOf(site);
    if (pathFilter === null) {
      const servedRoutes = await servedPages(site.world.url);
      const missing = servedRoutes.filter((route) => !visits.some((visit) => visit.route === route));
      findings.add('every page that is served is looked at', missing.length === 0, missing.join(' '));
    }
    const selectedVisits = visits.filter(({ path }) => pathFilter === null || path.includes(pathFilter));
    await inParallel(CONCURRENCY, selectedVisits, (visit) => checkVisit(visit, browser, site, findings));
  } finally {
    await browser.close();
    await site.close();
  }
  findings.end();
}

async function checkVisit(
  visit: PageVisit,
  browser: Browser,
  site: DemoSite,
  findings: Findings,
): Promise<void> {
  const problems: string[] = [];
  for (const viewing of viewings) {
    const faults = await site
      .look(browser, visit.as, viewing, visit.path, visit)
      .catch((error: unknown) => String(error).slice(0, 300));
    const descriptions = typeof faults === 'string' ? [faults] : describeFaults(faults);
    problems.push(...descriptions.map((word) => `\n        ${viewing.theme} ${viewing.width}: ${word}`));
  }
  const more =
    problems.length > MAX_FAULTS_SHOWN ? `\n        and ${problems.length - MAX_FAULTS_SHOWN} more` : '';
  const title = `${visit.path} (${visit.as})`;
  findings.add(title, problems.length === 0, problems.slice(0, MAX_FAULTS_SHOWN).join('') + more);
}

const describeFaults = (faults: PageIssues): string[] =>
  Object.entries(faults).flatMap(([kind, list]) => (list as string[]).map((text) => `${kind} ${text}`));

runProof(main);
