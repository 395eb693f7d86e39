import { request } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SeededRandom } from '../../../test/system/seeded-random';
import { type Findings, inParallel } from '../../../test/system/findings';
import type { ComponentCall, ComponentEvidence } from '../audit/components';
import { runAudit } from '../run-audit';
import { type ComponentCase, planCases } from './cases';
import { ComponentTestbed } from './testbed';
import { SimulatedSupplier } from './supplier';

const CONCURRENCY = 12;
const MIN_CALLS = 600;
const DEADLINE_MS = 30_000;

/** Calls and bills every component of a price; an independent calculator recomputes the sums. */
export async function proveComponents(
  findings: Findings,
  chance: SeededRandom,
  rounds: number,
): Promise<void> {
  const cases = planCases(chance, rounds);
  const supplier = await SimulatedSupplier.start(cases);
  const testbed = await ComponentTestbed.open(supplier.url);
  try {
    const calls: ComponentCall[] = [];
    await inParallel(CONCURRENCY, cases, async (one) => {
      calls.push(await call(testbed, one));
    });
    const answeredCalls = calls.filter(({ status }) => status === 200);
    const rejectedCall = calls.find(({ status }) => status !== 200);
    findings.add(
      'calls of every component of a price: tokens, tools, tiers, lanes, media',
      answeredCalls.length === calls.length && calls.length >= Math.min(MIN_CALLS, 55 * rounds),
      `${answeredCalls.length} of ${calls.length} answered${rejectedCall === undefined ? '' : `: ${rejectedCall.name} ${rejectedCall.text}`}`,
    );
    const { data, prices } = await testbed.audit(answeredCalls.length);
    const files = await testbed.files();
    await testbed.stopService();
    const evidence: ComponentEvidence = {
      priceFile: testbed.priceFile,
      databaseUrl: testbed.postgres.ownerUrl,
      paidIn: ComponentTestbed.paidIn,
      calls,
      exchanges: supplier.exchanges,
      audit: data,
      prices,
      files,
    };
    const file = join(testbed.postgres.folder, 'evidence.json');
    writeFileSync(file, JSON.stringify(evidence));
    await runAudit(findings, 'components.js', file);
  } finally {
    await testbed.close();
    supplier.stop();
  }
}

/** Calls as any client would: the cost is in a header, or in a trailer after a stream. */
async function call(
  { url, key }: ComponentTestbed,
  { number, name, path, body }: ComponentCase,
): Promise<ComponentCall> {
  const encodedRequest = new Response(body instanceof FormData ? body : JSON.stringify(body));
  const bytes = Buffer.from(await encodedRequest.arrayBuffer());
  const type =
    body instanceof FormData ? (encodedRequest.headers.get('content-type') ?? '') : 'application/json';
  const headers = { authorization: `Bearer ${key}`, 'content-type': type, 'content-length': bytes.length };
  return new Promise((resolve, reject) => {
    const clientRequest = request(url + path, { method: 'POST', headers, timeout: DEADLINE_MS }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('error', reject);
      answer.on('end', () => {
        const reportedCost = answer.headers['x-svc-cost-usd'] ?? answer.trailers['x-svc-cost-usd'];
        const status = answer.statusCode ?? 0;
        const text = status === 200 ? '' : Buffer.concat(pieces).toString().slice(0, 400);
        const requestId = String(answer.headers['x-request-id']);
        resolve({
          number,
          name,
          status,
          requestId,
          toldUsd: reportedCost === undefined ? null : String(reportedCost),
          text,
        });
      });
    });
    clientRequest.on('error', reject);
    clientRequest.end(bytes);
  });
}
