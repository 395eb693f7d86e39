import { setTimeout as delay } from 'node:timers/promises';
import type { Findings } from '../../test/system/findings';
import type { BillingTestbed } from './billing-testbed';

const USD = 1_000_000_000n;
const MAX_POLLS = 100;

/** Proves a top-up on a node with the shipped payment sandbox, from the form to the credit, through its events only. */
export async function proveSandbox(testbed: BillingTestbed, findings: Findings): Promise<void> {
  const service = await testbed.startSandbox();
  try {
    const payer = await testbed.createPayer();
    const checkoutResponse = await fetch(`${service.url}/api/billing/checkout`, {
      method: 'POST',
      headers: { cookie: payer.cookie, origin: service.url, 'content-type': 'application/json' },
      body: JSON.stringify({ amount: 10 }),
      signal: AbortSignal.timeout(30_000),
    });
    const { url } = (await checkoutResponse.json()) as { url?: string };
    if (url === undefined) throw new Error(`no checkout was begun: ${checkoutResponse.status}`);
    const paymentResponse = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'card=4242424242424242&confirm=yes',
      redirect: 'manual',
      signal: AbortSignal.timeout(30_000),
    });
    let balance = 0n;
    for (let poll = 0; poll < MAX_POLLS && balance === 0n; poll += 1) {
      await delay(100);
      balance = await testbed.balance(payer);
    }
    const page = await fetch(`${service.url}/dashboard/billing`, {
      headers: { cookie: payer.cookie, accept: 'text/html' },
      signal: AbortSignal.timeout(30_000),
    });
    const isMarkedAsSimulated = (await page.text()).includes('Simulated payments.');
    findings.add(
      'the sandbox of payments: paid on its page, credited by its event, marked on ours',
      paymentResponse.status === 303 && balance === 10n * USD && isMarkedAsSimulated,
      `${paymentResponse.status}, balance ${balance}, marked: ${isMarkedAsSimulated}`,
    );
  } finally {
    await service.stop();
  }
}
