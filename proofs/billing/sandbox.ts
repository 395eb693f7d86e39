import { setTimeout as delay } from 'node:timers/promises';
import type { Findings } from '../../test/system/findings';
import type { BillingTestbed } from './billing-testbed';

const USD = 1_000_000_000n;
const MOST_LOOKS = 100;

/** A node with the sandbox of payments, as it ships: a top-up from the form to the credit, by its events alone. */
export async function proveSandbox(testbed: BillingTestbed, findings: Findings): Promise<void> {
  const service = await testbed.startSandbox();
  try {
    const payer = await testbed.payer();
    const begun = await fetch(`${service.url}/api/billing/checkout`, {
      method: 'POST',
      headers: { cookie: payer.cookie, origin: service.url, 'content-type': 'application/json' },
      body: JSON.stringify({ amount: 10 }),
      signal: AbortSignal.timeout(30_000),
    });
    const { url } = (await begun.json()) as { url?: string };
    if (url === undefined) throw new Error(`no checkout was begun: ${begun.status}`);
    const paid = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'card=4242424242424242&confirm=yes',
      redirect: 'manual',
      signal: AbortSignal.timeout(30_000),
    });
    let balance = 0n;
    for (let look = 0; look < MOST_LOOKS && balance === 0n; look += 1) {
      await delay(100);
      balance = await testbed.balance(payer);
    }
    const page = await fetch(`${service.url}/dashboard/billing`, {
      headers: { cookie: payer.cookie, accept: 'text/html' },
      signal: AbortSignal.timeout(30_000),
    });
    const isMarked = (await page.text()).includes('Simulated payments.');
    findings.add(
      'the sandbox of payments: paid on its page, credited by its event, marked on ours',
      paid.status === 303 && balance === 10n * USD && isMarked,
      `${paid.status}, balance ${balance}, marked: ${isMarked}`,
    );
  } finally {
    await service.stop();
  }
}
