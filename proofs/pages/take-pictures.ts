import 'reflect-metadata';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolder } from '#product/views';
import { launchBrowser, type ViewOptions } from '../../test/support/browser/launch';
import { Findings, runProof } from '../../test/system/findings';
import { type DemoRole, DemoSite } from './demo-site';
import { visitsOf } from './visits';

const REQUESTS = 20_000;
const desktop: ViewOptions = { theme: 'light', width: 1280 };
const tall: ViewOptions = { ...desktop, height: 1_500 };
const dark: ViewOptions = { theme: 'dark', width: 1280 };

interface Screenshot {
  readonly file: string;
  readonly as: DemoRole;
  readonly route: string;
  readonly query?: string;
  readonly viewing?: ViewOptions;
}

/** Pages shown in the README, filled with demo data. */
const screenshots: readonly Screenshot[] = [
  { file: 'home', as: 'anonymous', route: '/' },
  { file: 'overview', as: 'developer', route: '/dashboard' },
  { file: 'keys', as: 'owner', route: '/dashboard/keys' },
  { file: 'key', as: 'developer', route: '/dashboard/keys/{key_id}' },
  { file: 'usage', as: 'owner', route: '/dashboard/usage' },
  { file: 'requests', as: 'owner', route: '/dashboard/request-log', viewing: dark },
  { file: 'models', as: 'developer', route: '/dashboard/models' },
  { file: 'chat', as: 'developer', route: '/dashboard/webchat/{conv_id}' },
  { file: 'autorouter', as: 'owner', route: '/dashboard/autorouter', viewing: tall },
  { file: 'autorouter-night', as: 'owner', route: '/dashboard/autorouter', viewing: dark },
  { file: 'quality', as: 'owner', route: '/dashboard/qualitative', viewing: tall },
  { file: 'billing', as: 'payer', route: '/dashboard/billing' },
  { file: 'billing-return', as: 'payer', route: '/dashboard/billing/return' },
  { file: 'billing-ledger', as: 'payer', route: '/dashboard/billing/ledger' },
  { file: 'billing-statement', as: 'payer', route: '/dashboard/billing/statements' },
  { file: 'admin-operations', as: 'operator', route: '/dashboard/admin' },
  { file: 'admin-users', as: 'operator', route: '/dashboard/admin/users', query: '?q=harbour' },
  { file: 'admin-organisations', as: 'operator', route: '/dashboard/admin/organisations' },
  { file: 'admin-models', as: 'operator', route: '/dashboard/admin/models' },
  { file: 'admin-audit', as: 'operator', route: '/dashboard/admin/audit', viewing: dark },
];

async function main(): Promise<void> {
  const findings = new Findings('pictures');
  const folder = join(projectFolder, 'docs', 'images');
  mkdirSync(folder, { recursive: true });
  const site = await DemoSite.open(REQUESTS);
  const browser = await launchBrowser();
  try {
    const visits = await visitsOf(site);
    // Onboarding explanations are closed, as in daily use.
    for (const page of ['autorouter', 'qualitative'])
      await site.people.owner.client.post(`/dashboard/${page}/help`, { json: {} });
    for (const { file, as, route, query = '', viewing = desktop } of screenshots) {
      const path = visits.find((visit) => visit.route === route && visit.as !== 'anonymous')?.path ?? route;
      const picture = join(folder, `${file}.png`);
      const faults = await site.look(browser, as, viewing, path + query, { picture });
      findings.add(`${file}.png`, Object.values(faults).flat().length === 0, path);
    }
  } finally {
    await browser.close();
    await site.close();
  }
  findings.end();
}

runProof(main);
