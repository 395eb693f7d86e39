import 'reflect-metadata';
import { migrations } from '#migrations';
import { migrate } from '#inside/platform/database/migrate';
import { partsFromArguments, runProof } from '../../test/system/findings';
import { proveBounds } from './bounds';
import { proveBrokenBooks } from './broken-books/prove-broken-books';
import { proveJournalNearTheEnd, proveNodeCrashes, proveOutage, provePostgresCrashes } from './crashes';
import { startEngineNode } from './node-handle';
import { proveKeyLimits } from './key-limits';
import { proveUserBudgets, proveInvoices } from './user-budgets';
import { proveOneDollar } from './one-dollar';
import { PostgresServer } from '../../test/system/postgres-server';
import { Proof } from './proof';
import { proveNoLiveLock, proveNothingIdleRefuses } from './starvation';

const runs = Number(process.env['PROOF_RUNS'] ?? 20);

/**
 * Arguments select scenarios: dollar, bounds, idle, starve, nodes, journal, postgres, limits, outage, person, invoices,
 * books (PROOF_SEED picks their victims).
 */
const scenarios: Readonly<Record<string, (proof: Proof) => Promise<void>>> = {
  dollar: (proof) => proveOneDollar(proof, runs),
  bounds: proveBounds,
  idle: (proof) => proveNothingIdleRefuses(proof, 25),
  starve: (proof) => proveNoLiveLock(proof, 8),
  nodes: (proof) => proveNodeCrashes(proof, 20),
  journal: (proof) => proveJournalNearTheEnd(proof, 3),
  postgres: (proof) => provePostgresCrashes(proof, 5),
  limits: proveKeyLimits,
  person: proveUserBudgets,
  invoices: proveInvoices,
  outage: (proof) => proveOutage(proof, 10),
  books: (proof) => proveBrokenBooks(proof, process.env['PROOF_SEED'] ?? String(Date.now())),
};

async function main(): Promise<void> {
  if (!Number.isSafeInteger(runs) || runs < 1) throw new Error('PROOF_RUNS takes a whole number from 1');
  const selectedParts = partsFromArguments(Object.keys(scenarios));
  const postgres = await PostgresServer.start();
  const { ownerUrl, url } = postgres;
  await migrate({ url: ownerUrl, serviceUrl: url, migrations, queue: false });
  const proof = new Proof(postgres, startEngineNode);
  try {
    await proof.startNodes(2);
    for (const [name, prove] of Object.entries(scenarios))
      if (selectedParts.includes(name)) await prove(proof);
  } finally {
    await proof.close();
  }
  proof.findings.end();
}

runProof(main);
