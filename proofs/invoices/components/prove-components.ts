import { request } from 'node:http';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Chance } from '../../../test/system/chance';
import { type Findings, inParallel } from '../../../test/system/findings';
import type { ComponentCall, ComponentEvidence } from '../audit/components';
import { runAudit } from '../run-audit';
import { type Case, planCases } from './cases';
import { ComponentTestbed } from './testbed';
import { PretendedSupplier } from './supplier';

const AT_ONCE = 12;
const LEAST_CALLS = 600;
const DEADLINE_MS = 30_000;

/** Every component of a price, asked for and billed; an independent calculator does the sums again. */
export async function proveComponents(findings: Findings, chance: Chance, rounds: number): Promise<void> {
  const cases = planCases(chance, rounds);
  const supplier = await PretendedSupplier.start(cases);
  const testbed = await ComponentTestbed.open(supplier.url);
  try {
    const calls: ComponentCall[] = [];
    await inParallel(AT_ONCE, cases, async (one) => {
      calls.push(await call(testbed, one));
    });
    const answered = calls.filter(({ status }) => status === 200);
    const refused = calls.find(({ status }) => status !== 200);
    findings.add(
      'calls of every component of a price: tokens, tools, tiers, lanes, media',
      answered.length === calls.length && calls.length >= Math.min(LEAST_CALLS, 55 * rounds),
      `${answered.length} of ${calls.length} answered${refused === undefined ? '' : `: ${refused.name} ${refused.text}`}`,
    );
    const { data, prices } = await testbed.audit(answered.length);
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

/** As any client would: the cost stands in a header, or behind a stream in a trailer. */
async function call(
  { url, key }: ComponentTestbed,
  { number, name, path, body }: Case,
): Promise<ComponentCall> {
  const sent = new Response(body instanceof FormData ? body : JSON.stringify(body));
  const bytes = Buffer.from(await sent.arrayBuffer());
  const type = body instanceof FormData ? (sent.headers.get('content-type') ?? '') : 'application/json';
  const headers = { authorization: `Bearer ${key}`, 'content-type': type, 'content-length': bytes.length };
  return new Promise((resolve, reject) => {
    const sending = request(url + path, { method: 'POST', headers, timeout: DEADLINE_MS }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.on('error', reject);
      answer.on('end', () => {
        const told = answer.headers['x-svc-cost-usd'] ?? answer.trailers['x-svc-cost-usd'];
        const status = answer.statusCode ?? 0;
        const text = status === 200 ? '' : Buffer.concat(pieces).toString().slice(0, 400);
        const requestId = String(answer.headers['x-request-id']);
        resolve({ number, name, status, requestId, toldUsd: told === undefined ? null : String(told), text });
      });
    });
    sending.on('error', reject);
    sending.end(bytes);
  });
}
