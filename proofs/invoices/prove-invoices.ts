import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Chance } from '../../test/system/chance';
import { Findings, inParallel, numberGiven, runProof } from '../../test/system/findings';
import { makeCall } from './caller';
import { planCalls } from './calls';
import { proveComponents } from './components/prove-components';
import type { CallSeen, Evidence } from './evidence';
import { buildTestbed, type InvoiceTestbed } from './testbed';
import { priceList } from './price-list';
import { runAudit } from './run-audit';

/**
 * Hundreds of calls, half of them the streamed twins of the others, some broken off; then a program of its own
 * recomputes every charge. Then every component of a price, `--rounds` times. `--twins` and `--seed` choose how many
 * and which.
 */
const AT_ONCE = 12;
const LEAST_CALLS = 300;

async function main(): Promise<void> {
  const twins = numberGiven('twins', 308);
  const rounds = numberGiven('rounds', 12);
  const seed = numberGiven('seed', Math.floor(Math.random() * 1e9));
  const findings = new Findings('prove:invoices');
  const testbed = await buildTestbed(seed);
  try {
    const planned = planCalls(new Chance(seed), twins, testbed.keys.length);
    const calls: CallSeen[] = [];
    await inParallel(AT_ONCE, planned, async (call) => {
      calls.push(await makeCall(testbed.gateway.node.url, call, testbed.keys[call.key]?.key ?? ''));
    });
    report(findings, calls, seed);
    await testbed.gateway.stopService();
    await audit(findings, testbed, calls);
    const wrong = await testbed.gateway.node.discrepancies();
    findings.add('the books, by the service’s own checks', wrong === 0, `${wrong} wrong`);
  } finally {
    await testbed.stop();
  }
  await proveComponents(findings, new Chance(seed), rounds);
  findings.end();
}

function report(findings: Findings, calls: readonly CallSeen[], seed: number): void {
  const forms = new Map<string, number>();
  for (const { form } of calls) forms.set(form, (forms.get(form) ?? 0) + 1);
  const counted = [...forms].map(([form, count]) => `${count} ${form}`).join(', ');
  const answered = calls.filter(({ status }) => status === 200).length;
  findings.add(
    `calls over three dialects, three styles of supplier and failover (seed ${seed})`,
    answered >= Math.min(LEAST_CALLS, calls.length * 0.8),
    `${answered} of ${calls.length} answered: ${counted}`,
  );
}

/** The audit gets the paths of the evidence and nothing else. */
async function audit(findings: Findings, testbed: InvoiceTestbed, calls: readonly CallSeen[]): Promise<void> {
  const { gateway, simulator, keys, wallets } = testbed;
  const evidence: Evidence = {
    prices: priceList,
    calls,
    keys,
    wallets,
    suppliers: simulator.lanes,
    journalUrl: simulator.controlUrl,
    databaseUrl: gateway.ownerUrl,
  };
  const file = join(gateway.folder, 'evidence.json');
  writeFileSync(file, JSON.stringify(evidence));
  await runAudit(findings, 'main.js', file);
}

runProof(main);
