import { setTimeout as delay } from 'node:timers/promises';
import type { SentEvent } from '../../simulator/processor/account-store';
import { deliver, signatureHeader } from '../../simulator/processor/processor-simulator';
import { handledEvents } from '#inside/billing/processor/events';
import { topUpCents } from '#product/billing';
import { SeededRandom } from '../../test/system/seeded-random';
import { Findings, inParallel, numberOption, runProof } from '../../test/system/findings';
import { BillingTestbed, type TestPayer } from './billing-testbed';
import { type PaymentHistory, simulatePayment } from './history';
import { proveSandbox } from './sandbox';

const CONNECTIONS = 8;
const REPETITIONS = 10;
const USD = 1_000_000_000n;

/**
 * Payments get random events, reordered and repeated; the credit always matches an independent calculation, even if
 * only the processor's list has an event. Options: `--histories 100 --seed 1 --forged 200 --triggers 20`
 */
async function main(): Promise<void> {
  const findings = new Findings('prove:billing');
  const seed = numberOption('seed', 1);
  process.stdout.write(`seed ${seed}\n`);
  proveAmounts(findings);
  const testbed = await BillingTestbed.open(2);
  try {
    await proveHistories(testbed, findings, new SeededRandom(seed), numberOption('histories', 100));
    await proveLost(testbed, findings, new SeededRandom(seed + 1), numberOption('histories', 100));
    await proveForged(testbed, findings, numberOption('forged', 200));
    await proveTriggers(testbed, findings, numberOption('triggers', 20));
    await proveSandbox(testbed, findings);
    await proveOutage(testbed, findings);
    const discrepancies = await testbed.node.discrepancies();
    findings.add('money:verify is clean after all of it', discrepancies === 0, `${discrepancies} wrong`);
  } finally {
    await testbed.close();
  }
  findings.end();
}

/** Checks every possible amount, to the cent. */
function proveAmounts(findings: Findings): void {
  let failureCount = 0;
  for (let net = 500n; net <= 1_000_000n; net += 1n) {
    const { fee, gross, net: kept } = topUpCents(net);
    const isSmallestGross = gross * 95n >= net * 100n && (gross - 1n) * 95n < net * 100n;
    if (kept !== net || kept + fee !== gross || !isSmallestGross) failureCount += 1;
  }
  findings.add(
    '999,501 amounts from 5.00 to 10,000.00: net + fee = gross',
    failureCount === 0,
    `${failureCount} wrong`,
  );
}

async function proveHistories(
  testbed: BillingTestbed,
  findings: Findings,
  chance: SeededRandom,
  maxCount: number,
): Promise<void> {
  const payments = await simulatePayments(testbed, chance, maxCount);
  const events = testbed.processor.account.events.splice(0);
  const deliveries = shuffle(
    events.flatMap((event) => Array.from({ length: REPETITIONS }, () => event)),
    chance,
  );
  const statuses = new Map<number, number>();
  const startedAt = Date.now();
  await inParallel(CONNECTIONS, deliveries, async (event) => {
    const { status } = await deliver(testbed.node.url, event);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  });
  const rate = Math.round((deliveries.length * 1_000) / (Date.now() - startedAt));
  const mismatches = await wrongBalances(testbed, payments);
  const summary = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
  findings.add(
    `${events.length} events ${REPETITIONS} times each, shuffled, over ${CONNECTIONS} connections: all taken`,
    statuses.size === 1 && statuses.has(200),
    `${summary}; ${rate} a second`,
  );
  findings.expectNoneWrong(
    `${maxCount} payment histories end with the balance of the model`,
    payments.length,
    mismatches.length,
    mismatches.join('; ') || `${maxCount} equal`,
  );
  const [left] = await testbed.rows.query<{ count: string }>(
    `SELECT count(*)::text AS count FROM processor_event WHERE outcome IN ('quarantined', 'received')`,
  );
  findings.add('no event is left in quarantine', left?.count === '0', `${left?.count} left`);
}

/** Drops half of the events, then all of each type in turn; the processor's list repairs each loss. */
async function proveLost(
  testbed: BillingTestbed,
  findings: Findings,
  chance: SeededRandom,
  maxCount: number,
): Promise<void> {
  const sweep = (): Promise<void> => testbed.runJob('poll-processor-events');
  const lossRules = new Map<string, (event: SentEvent) => boolean>([
    ['half of all events', () => chance.flip()],
    ['all events', () => true],
    ...handledEvents.map((type): [string, (event: SentEvent) => boolean] => [
      type,
      (event) => event.type === type,
    ]),
  ]);
  const failures: string[] = [];
  const lostByType = new Map<string, number>();
  for (const [name, isLost] of lossRules) {
    const payments = await simulatePayments(testbed, chance, Math.ceil(maxCount / 5));
    const events = shuffle(testbed.processor.account.events.splice(0), chance);
    const deliveredEvents = events.filter((event) => !isLost(event));
    for (const { type } of events.filter((event) => !deliveredEvents.includes(event)))
      lostByType.set(type, (lostByType.get(type) ?? 0) + 1);
    await inParallel(
      CONNECTIONS,
      deliveredEvents,
      async (event) => void (await deliver(testbed.node.url, event)),
    );
    await sweep();
    failures.push(...(await wrongBalances(testbed, payments)).map((one) => `${name}: ${one}`));
  }
  const lostCount = [...lostByType.values()].reduce((sum, count) => sum + count, 0);
  const summary = [...lostByType].map(([type, count]) => `${count} ${type}`).join(', ');
  findings.expectNoneWrong(
    `${lostCount} events lost in ${lossRules.size} ways: one reading of the processor's list repairs every balance`,
    lostCount,
    failures.length,
    failures.join('; ') || summary,
  );
  const knownEventCount = async (): Promise<number> =>
    (await testbed.rows.query('SELECT 1 FROM processor_event')).length;
  const before = await knownEventCount();
  await sweep();
  const newEventCount = (await knownEventCount()) - before;
  findings.add('a second reading finds nothing more', newEventCount === 0, `${newEventCount} found`);
  await proveLostCharges(testbed, findings, sweep);
}

/** Proves a saved card and a delayed charge of it whose events were all lost. */
async function proveLostCharges(
  testbed: BillingTestbed,
  findings: Findings,
  sweep: () => Promise<void>,
): Promise<void> {
  const { account } = testbed.processor;
  const payer = await testbed.createPayer();
  const { url } = await testbed.post('/api/billing/payment-method', payer, {});
  account.pay(String(url).split('/').at(-1) ?? '');
  account.events.length = 0;
  await sweep();
  await testbed.post('/api/billing/auto-topup', payer, {
    enabled: true,
    threshold: 20,
    amount: 50,
    monthly_ceiling: 500,
  });
  account.hasDelayedSettlement = true;
  await testbed.runJob('automatic-top-ups');
  account.hasDelayedSettlement = false;
  account.settleIntent([...account.intents.keys()].at(-1) ?? '', true);
  account.events.length = 0;
  await sweep();
  const balance = await testbed.balance(payer);
  findings.add(
    'a card saved and a charge that took days, their events lost: charged and credited once',
    balance === 50n * USD,
    `balance ${balance}`,
  );
}

interface SimulatedPayment {
  readonly payer: TestPayer;
  readonly history: PaymentHistory;
}

async function simulatePayments(
  testbed: BillingTestbed,
  chance: SeededRandom,
  maxCount: number,
): Promise<SimulatedPayment[]> {
  const payments: SimulatedPayment[] = [];
  for (let index = 0; index < maxCount; index += 1) {
    const payer = await testbed.createPayer();
    const cents = BigInt(chance.integer(500, 1_000_000));
    const session = await testbed.checkout(payer, cents);
    payments.push({ payer, history: simulatePayment(testbed.processor.account, session, cents, chance) });
  }
  return payments;
}

async function wrongBalances(
  testbed: BillingTestbed,
  payments: readonly SimulatedPayment[],
): Promise<string[]> {
  const failures: string[] = [];
  for (const { payer, history } of payments) {
    const balance = await testbed.balance(payer);
    if (balance !== history.expected) failures.push(`${history.steps}: ${balance} for ${history.expected}`);
  }
  return failures;
}

async function proveForged(testbed: BillingTestbed, findings: Findings, maxCount: number): Promise<void> {
  const payer = await testbed.createPayer();
  const session = await testbed.checkout(payer, 5_000n);
  testbed.processor.account.pay(session);
  const genuine = testbed.processor.account.events.splice(0);
  const now = Math.floor(Date.now() / 1_000);
  const forgeries: ((text: string) => [text: string, header: string])[] = [
    (text) => [text, signatureHeader(text).replace(/v1=..../, 'v1=0000')],
    (text) => [text, signatureHeader(text, undefined, now - 301)],
    (text) => [text, `t=${now},${signatureHeader(text, undefined, now - 301)}`],
    (text) => [JSON.stringify(JSON.parse(text), null, 2), signatureHeader(text)],
    (text) => [text, signatureHeader(text, 'whsec_ofsomebodyelse01')],
    (text) => [text, signatureHeader(text, '')],
  ];
  let acceptedCount = 0;
  for (let index = 0; index < maxCount; index += 1) {
    const event = genuine[index % genuine.length];
    const [text, header] = forgeries[index % forgeries.length]?.(event?.text ?? '') ?? ['', ''];
    if ((await deliver(testbed.node.url, { text }, header)).status !== 400) acceptedCount += 1;
  }
  const isUntouched = (await testbed.balance(payer)) === 0n;
  findings.expectNoneWrong(
    `${maxCount} forged, stale, re-serialised, wrong- and empty-secret events`,
    genuine.length === 0 ? 0 : maxCount,
    acceptedCount + (isUntouched ? 0 : 1),
    `${acceptedCount} accepted`,
  );
}

async function proveTriggers(testbed: BillingTestbed, findings: Findings, maxCount: number): Promise<void> {
  let failureCount = 0;
  for (let index = 0; index < maxCount; index += 1) {
    const payer = await testbed.createPayer();
    const session = await testbed.checkout(payer, 1_000n);
    testbed.processor.account.pay(session);
    await deliverAll(testbed);
    const before = testbed.processor.account.charges.size;
    await testbed.post('/api/billing/auto-topup', payer, {
      enabled: true,
      threshold: 20,
      amount: 50,
      monthly_ceiling: 500,
    });
    for (let run = 0; run < 4; run += 1) await testbed.runJob('automatic-top-ups');
    await deliverAll(testbed);
    const charges = testbed.processor.account.charges.size - before;
    if (charges !== 1 || (await testbed.balance(payer)) !== 60n * USD) failureCount += 1;
  }
  findings.expectNoneWrong(
    `${maxCount} automatic top-ups, each looked at four times by two nodes: one charge`,
    maxCount,
    failureCount,
    `${failureCount} wrong`,
  );
}

async function proveOutage(testbed: BillingTestbed, findings: Findings): Promise<void> {
  const payer = await testbed.createPayer();
  const session = await testbed.checkout(payer, 5_000n);
  testbed.processor.account.pay(session);
  const events = testbed.processor.account.events.splice(0);
  await testbed.postgres.kill();
  const statusesDuring = await Promise.all(events.map((event) => statusOf(testbed, event)));
  await testbed.postgres.launch();
  const statusesAfter: number[] = [];
  for (const event of [...events, ...events]) statusesAfter.push(await redeliver(testbed, event));
  const balance = await testbed.balance(payer);
  findings.add(
    'the database is down while events come: 5xx, and redelivery credits once',
    statusesDuring.every((status) => status >= 500) &&
      statusesAfter.every((status) => status === 200) &&
      balance === 50n * USD,
    `${statusesDuring.join(', ')}, then ${statusesAfter.join(', ')}; balance ${balance}`,
  );
}

const statusOf = async (testbed: BillingTestbed, event: SentEvent): Promise<number> =>
  (await deliver(testbed.node.url, event)).status;

/** Redelivers as the processor does, until the event is accepted. */
async function redeliver(testbed: BillingTestbed, event: SentEvent): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const status = await statusOf(testbed, event);
    if (status < 500 || attempt === 40) return status;
    await delay(250);
  }
}

async function deliverAll(testbed: BillingTestbed): Promise<void> {
  for (const event of testbed.processor.account.events.splice(0)) await deliver(testbed.node.url, event);
}

function shuffle<T>(list: readonly T[], chance: SeededRandom): T[] {
  const shuffledList = [...list];
  for (let index = shuffledList.length - 1; index > 0; index -= 1) {
    const swapIndex = chance.integer(0, index);
    [shuffledList[index], shuffledList[swapIndex]] = [shuffledList[swapIndex] as T, shuffledList[index] as T];
  }
  return shuffledList;
}

runProof(main);
