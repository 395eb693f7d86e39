import { type ExportVerification, verifyExport } from '#product/audit';
import { SeededRandom } from '../../test/system/seeded-random';
import { Findings, numberOption, runProof } from '../../test/system/findings';
import { type ProofGateway, startGateway } from '../../test/system/gateway';
import { tamperBeforeSealing } from './unsealed-entries';
import { exportChain, writeHistory } from './history';
import { ParsedExport, tampers } from './tamper';

const CHUNK_BYTES = 65_536;

async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += CHUNK_BYTES) {
    yield bytes.subarray(from, from + CHUNK_BYTES);
    await Promise.resolve();
  }
}

const verifyText = (text: string, everySignature: boolean): Promise<ExportVerification> =>
  verifyExport(chunksOf(Buffer.from(text)), { everySignature });

/**
 * Changes exports of a real chain at random: each change is located, and an unchanged export raises no alarm. Entries
 * are also changed and removed before sealing; options: `--changes 1000`, `--seed 1`, `--rows 200000`.
 */
async function main(): Promise<void> {
  const findings = new Findings('prove:audit');
  const gateway = await startGateway({ ACTIVITY_RETENTION_MONTHS: '2' });
  try {
    const chance = new SeededRandom(numberOption('seed', 1));
    const originals = await collectExports(gateway, chance, findings);
    await proveTampering(originals, chance, findings);
    await measureSpeed(gateway, chance, findings);
    const verifyFindings = async () => (await verifyText(await exportChain(gateway), false)).findings;
    await tamperBeforeSealing(gateway, chance, findings, verifyFindings);
  } finally {
    await gateway.stop();
  }
  findings.end();
}

/** Exports of the growing chain, all chains and each one, with blocks that retention emptied; none raises an alarm. */
async function collectExports(
  gateway: ProofGateway,
  chance: SeededRandom,
  findings: Findings,
): Promise<ParsedExport[]> {
  const { rows } = gateway;
  const texts: string[] = [];
  await writeHistory(rows, { entries: 120, chains: 4, maxBatch: 30, daysAgo: 150 }, chance);
  // Runs the nightly retention of the service.
  await rows.query("SELECT forget_activity_before(date_trunc('month', now() - interval '2 months')::date)");
  for (let round = 0; round < 10; round += 1) {
    await writeHistory(rows, { entries: 90, chains: 4, maxBatch: 40 }, chance);
    texts.push(await exportChain(gateway));
    for (const number of [0, 1, 2, 3]) texts.push(await exportChain(gateway, number));
  }
  let falseAlarms = 0;
  let emptyBlocks = 0;
  for (const text of texts) {
    const [quick, thorough] = [await verifyText(text, false), await verifyText(text, true)];
    falseAlarms += quick.count + thorough.count;
    emptyBlocks += thorough.emptyBlocks;
  }
  findings.expectNoneWrong(
    'exports that nobody changed',
    texts.length,
    falseAlarms,
    `${texts.length} exports, ${falseAlarms} false alarms`,
  );
  findings.add(
    'blocks that retention emptied are among them',
    emptyBlocks > 0,
    `${emptyBlocks} heads without entries`,
  );
  return texts.slice(-15).map((text) => new ParsedExport(text));
}

async function proveTampering(
  originals: readonly ParsedExport[],
  chance: SeededRandom,
  findings: Findings,
): Promise<void> {
  const changeCount = numberOption('changes', 1_000);
  const usedTampers = tampers.slice(0, changeCount);
  for (const { name } of new Set(tampers.filter((one) => !usedTampers.includes(one))))
    findings.addSkipped(name, `there are only ${changeCount} changes`);
  const tally = new Map<string, { made: number; noticed: number; located: number; example: string }>();
  for (let number = 0; number < changeCount; number += 1) {
    const tamper = tampers[number % tampers.length];
    if (tamper === undefined) throw new Error('there is no such change');
    const tampered = tamper(chance.pick(originals), chance);
    const { kind, text } = tampered;
    const row = tally.get(kind) ?? { made: 0, noticed: 0, located: 0, example: '' };
    tally.set(kind, row);
    row.made += 1;
    const [quick, thorough] = [await verifyText(text, false), await verifyText(text, true)];
    if (quick.count > 0) row.noticed += 1;
    if (tampered.isLocated(thorough)) row.located += 1;
    else if (row.example === '')
      row.example = `; ${tamper.name}: ${JSON.stringify(thorough.findings.slice(0, 4))}`;
  }
  for (const [kind, { made, noticed, located, example }] of tally) {
    const summary = `${located} of ${made} located, ${noticed} noticed without looking at every signature${example}`;
    findings.add(`${kind}s`, located === made && noticed === made, summary);
  }
}

async function measureSpeed(gateway: ProofGateway, chance: SeededRandom, findings: Findings): Promise<void> {
  const { rows } = gateway;
  const entries = numberOption('rows', 200_000);
  await writeHistory(rows, { entries, chains: 20, maxBatch: 20_000 }, chance);
  const text = Buffer.from(await exportChain(gateway));
  const started = performance.now();
  const verification = await verifyExport(chunksOf(text), { everySignature: false });
  const seconds = (performance.now() - started) / 1_000;
  const rate = Math.round(verification.entries / seconds).toLocaleString('en');
  const speed = `${verification.entries.toLocaleString('en')} entries in ${verification.blocks} blocks, ${rate} rows/s`;
  findings.add(
    'the verifier reads a large export',
    verification.count === 0 && verification.entries >= entries,
    speed,
  );
}

runProof(main);
