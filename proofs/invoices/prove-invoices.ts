import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SeededRandom } from '../../test/system/seeded-random';
import { Findings, inParallel, numberOption, runProof } from '../../test/system/findings';
import { makeCall } from './caller';
import { planCalls } from './calls';
import { proveComponents } from './components/prove-components';
import type { CallSeen, Evidence } from './evidence';
import { buildTestbed, type InvoiceTestbed } from './testbed';
import { priceList } from './price-list';
import { runAudit } from './run-audit';

/**
 * Makes hundreds of calls, half of them streaming twins of the others, some interrupted; an independent program
 * recomputes every charge. `--rounds` repeats every price component, `--twins` and `--seed` select the calls.
 */
const CONCURRENCY = 12;
const MIN_CALLS = 300;

async function main(): Promise<void> {
  const twins = numberOption('twins', 308);
  const rounds = numberOption('rounds', 12);
  const seed = numberOption('seed', Math.floor(Math.random() * 1e9));
  const findings = new Findings('prove:invoices');
  const testbed = await buildTestbed(seed);
  try {
    const planned = planCalls(new SeededRandom(seed), twins, testbed.keys.length);
    const calls: CallSeen[] = [];
    await inParallel(CONCURRENCY, planned, async (call) => {
      calls.push(await makeCall(testbed.gateway.node.url, call, testbed.keys[call.key]?.key ?? ''));
    });
    report(findings, calls, seed);
    await testbed.gateway.stopService();
    await audit(findings, testbed, calls);
    const discrepancies = await testbed.gateway.node.discrepancies();
    findings.add('the books, by the service’s own checks', discrepancies === 0, `${discrepancies} wrong`);
  } finally {
    await testbed.stop();
  }
  await proveComponents(findings, new SeededRandom(seed), rounds);
  findings.end();
}

function report(findings: Findings, calls: readonly CallSeen[], seed: number): void {
  const forms = new Map<string, number>();
  for (const { form } of calls) forms.set(form, (forms.get(form) ?? 0) + 1);
  const formCounts = [...forms].map(([form, count]) => `${count} ${form}`).join(', ');
  const answeredCount = calls.filter(({ status }) => status === 200).length;
  findings.add(
    `calls over three dialects, three styles of supplier and failover (seed ${seed})`,
    answeredCount >= Math.min(MIN_CALLS, calls.length * 0.8),
    `${answeredCount} of ${calls.length} answered: ${formCounts}`,
  );
}

/** The audit gets only the paths of the evidence. */
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
