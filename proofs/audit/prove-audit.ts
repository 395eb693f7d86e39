import { type ExportVerification, verifyExport } from '#product/audit';
import { Chance } from '../../test/system/chance';
import { Findings, numberGiven, runProof } from '../../test/system/findings';
import { type ProofGateway, startGateway } from '../../test/system/gateway';
import { attackBeforeTheSeal } from './before-the-seal';
import { exportOf, writeHistory } from './history';
import { Original, tampers } from './tamper';

const CHUNK = 65_536;

async function* chunksOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += CHUNK) {
    yield bytes.subarray(from, from + CHUNK);
    await Promise.resolve();
  }
}

const verify = (text: string, everySignature: boolean): Promise<ExportVerification> =>
  verifyExport(chunksOf(Buffer.from(text)), { everySignature });

/**
 * Exports of a real chain are changed at random: each change is found where it was made, and nothing is found where
 * nothing was changed. Entries are also changed and removed before they are sealed. `--changes 1000`, `--seed 1`, `--rows 200000` for the speed of the verifier.
 */
async function main(): Promise<void> {
  const findings = new Findings('prove:audit');
  const gateway = await startGateway({ ACTIVITY_RETENTION_MONTHS: '2' });
  try {
    const chance = new Chance(numberGiven('seed', 1));
    const originals = await exportsOf(gateway, chance, findings);
    await changeAll(originals, chance, findings);
    await measure(gateway, chance, findings);
    const verified = async () => (await verify(await exportOf(gateway), false)).findings;
    await attackBeforeTheSeal(gateway, chance, findings, verified);
  } finally {
    await gateway.stop();
  }
  findings.end();
}

/** Exports as the chain grows, of all chains and of each, with blocks that retention emptied: none is suspected. */
async function exportsOf(gateway: ProofGateway, chance: Chance, findings: Findings): Promise<Original[]> {
  const { rows } = gateway;
  const texts: string[] = [];
  await writeHistory(rows, { entries: 120, chains: 4, most: 30, daysAgo: 150 }, chance);
  // As the service does once a night.
  await rows.query("SELECT forget_activity_before(date_trunc('month', now() - interval '2 months')::date)");
  for (let round = 0; round < 10; round += 1) {
    await writeHistory(rows, { entries: 90, chains: 4, most: 40 }, chance);
    texts.push(await exportOf(gateway));
    for (const number of [0, 1, 2, 3]) texts.push(await exportOf(gateway, number));
  }
  let alarms = 0;
  let empty = 0;
  for (const text of texts) {
    const [quick, thorough] = [await verify(text, false), await verify(text, true)];
    alarms += quick.count + thorough.count;
    empty += thorough.emptyBlocks;
  }
  findings.over(
    'exports that nobody changed',
    texts.length,
    alarms,
    `${texts.length} exports, ${alarms} false alarms`,
  );
  findings.add('blocks that retention emptied are among them', empty > 0, `${empty} heads without entries`);
  return texts.slice(-15).map((text) => new Original(text));
}

async function changeAll(originals: readonly Original[], chance: Chance, findings: Findings): Promise<void> {
  const changes = numberGiven('changes', 1_000);
  const tried = tampers.slice(0, changes);
  for (const { name } of new Set(tampers.filter((one) => !tried.includes(one))))
    findings.leaveOut(name, `there are only ${changes} changes`);
  const tally = new Map<string, { made: number; noticed: number; located: number; example: string }>();
  for (let number = 0; number < changes; number += 1) {
    const tamper = tampers[number % tampers.length];
    if (tamper === undefined) throw new Error('there is no such change');
    const tampered = tamper(chance.pick(originals), chance);
    const { kind, text } = tampered;
    const row = tally.get(kind) ?? { made: 0, noticed: 0, located: 0, example: '' };
    tally.set(kind, row);
    row.made += 1;
    const [quick, thorough] = [await verify(text, false), await verify(text, true)];
    if (quick.count > 0) row.noticed += 1;
    if (tampered.isLocated(thorough)) row.located += 1;
    else if (row.example === '')
      row.example = `; ${tamper.name}: ${JSON.stringify(thorough.findings.slice(0, 4))}`;
  }
  for (const [kind, { made, noticed, located, example }] of tally) {
    const found = `${located} of ${made} located, ${noticed} noticed without looking at every signature${example}`;
    findings.add(`${kind}s`, located === made && noticed === made, found);
  }
}

async function measure(gateway: ProofGateway, chance: Chance, findings: Findings): Promise<void> {
  const { rows } = gateway;
  const entries = numberGiven('rows', 200_000);
  await writeHistory(rows, { entries, chains: 20, most: 20_000 }, chance);
  const text = Buffer.from(await exportOf(gateway));
  const started = performance.now();
  const found = await verifyExport(chunksOf(text), { everySignature: false });
  const seconds = (performance.now() - started) / 1_000;
  const rate = Math.round(found.entries / seconds).toLocaleString('en');
  const told = `${found.entries.toLocaleString('en')} entries in ${found.blocks} blocks, ${rate} rows/s`;
  findings.add('the verifier reads a large export', found.count === 0 && found.entries >= entries, told);
}

runProof(main);
