import { setTimeout as delay } from 'node:timers/promises';
import type { SentEvent } from '../../simulator/processor/books';
import { deliver, signature } from '../../simulator/processor/processor-simulator';
import { handledEvents } from '#inside/billing/processor/events';
import { topUpCents } from '#product/billing';
import { Chance } from '../../test/system/chance';
import { Findings, inParallel, numberGiven, runProof } from '../../test/system/findings';
import { BillingTestbed, type Payer } from './billing-testbed';
import { type History, live } from './history';
import { proveSandbox } from './sandbox';

const CONNECTIONS = 8;
const TIMES = 10;
const USD = 1_000_000_000n;

/**
 * Payments get random events, in random order and with repetitions. The credit must always match an
 * independent calculation, also where only the processor's list has an event. `--histories 100 --seed 1
 * --forged 200 --triggers 20`
 */
async function main(): Promise<void> {
  const findings = new Findings('prove:billing');
  const seed = numberGiven('seed', 1);
  process.stdout.write(`seed ${seed}\n`);
  proveAmounts(findings);
  const testbed = await BillingTestbed.open(2);
  try {
    await proveHistories(testbed, findings, new Chance(seed), numberGiven('histories', 100));
    await proveLost(testbed, findings, new Chance(seed + 1), numberGiven('histories', 100));
    await proveForged(testbed, findings, numberGiven('forged', 200));
    await proveTriggers(testbed, findings, numberGiven('triggers', 20));
    await proveSandbox(testbed, findings);
    await proveOutage(testbed, findings);
    const wrong = await testbed.node.discrepancies();
    findings.add('money:verify is clean after all of it', wrong === 0, `${wrong} wrong`);
  } finally {
    await testbed.close();
  }
  findings.end();
}

/** Every amount there is, to the cent. */
function proveAmounts(findings: Findings): void {
  let wrong = 0;
  for (let net = 500n; net <= 1_000_000n; net += 1n) {
    const { fee, gross, net: kept } = topUpCents(net);
    const isLeast = gross * 95n >= net * 100n && (gross - 1n) * 95n < net * 100n;
    if (kept !== net || kept + fee !== gross || !isLeast) wrong += 1;
  }
  findings.add('999,501 amounts from 5.00 to 10,000.00: net + fee = gross', wrong === 0, `${wrong} wrong`);
}

async function proveHistories(
  testbed: BillingTestbed,
  findings: Findings,
  chance: Chance,
  most: number,
): Promise<void> {
  const lives = await lived(testbed, chance, most);
  const events = testbed.processor.account.events.splice(0);
  const deliveries = shuffled(
    events.flatMap((event) => Array.from({ length: TIMES }, () => event)),
    chance,
  );
  const statuses = new Map<number, number>();
  const began = Date.now();
  await inParallel(CONNECTIONS, deliveries, async (event) => {
    const { status } = await deliver(testbed.node.url, event);
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  });
  const rate = Math.round((deliveries.length * 1_000) / (Date.now() - began));
  const wrong = await wrongBalances(testbed, lives);
  const all = [...statuses].map(([status, count]) => `${count} × ${status}`).join(', ');
  findings.add(
    `${events.length} events ${TIMES} times each, shuffled, over ${CONNECTIONS} connections: all taken`,
    statuses.size === 1 && statuses.has(200),
    `${all}; ${rate} a second`,
  );
  findings.over(
    `${most} payment histories end with the balance of the model`,
    lives.length,
    wrong.length,
    wrong.join('; ') || `${most} equal`,
  );
  const [left] = await testbed.rows.query<{ count: string }>(
    `SELECT count(*)::text AS count FROM processor_event WHERE outcome IN ('quarantined', 'received')`,
  );
  findings.add('no event is left in quarantine', left?.count === '0', `${left?.count} left`);
}

/** Half of the events are lost, then all of one type after the other: the processor's list repairs each. */
async function proveLost(
  testbed: BillingTestbed,
  findings: Findings,
  chance: Chance,
  most: number,
): Promise<void> {
  const sweep = (): Promise<void> => testbed.runJob('poll-processor-events');
  const lossesOf = new Map<string, (event: SentEvent) => boolean>([
    ['half of all events', () => chance.flip()],
    ['all events', () => true],
    ...handledEvents.map((type): [string, (event: SentEvent) => boolean] => [
      type,
      (event) => event.type === type,
    ]),
  ]);
  const wrong: string[] = [];
  const lost = new Map<string, number>();
  for (const [name, isLost] of lossesOf) {
    const lives = await lived(testbed, chance, Math.ceil(most / 5));
    const events = shuffled(testbed.processor.account.events.splice(0), chance);
    const brought = events.filter((event) => !isLost(event));
    for (const { type } of events.filter((event) => !brought.includes(event)))
      lost.set(type, (lost.get(type) ?? 0) + 1);
    await inParallel(CONNECTIONS, brought, async (event) => void (await deliver(testbed.node.url, event)));
    await sweep();
    wrong.push(...(await wrongBalances(testbed, lives)).map((one) => `${name}: ${one}`));
  }
  const all = [...lost.values()].reduce((sum, count) => sum + count, 0);
  const told = [...lost].map(([type, count]) => `${count} ${type}`).join(', ');
  findings.over(
    `${all} events lost in ${lossesOf.size} ways: one reading of the processor's list repairs every balance`,
    all,
    wrong.length,
    wrong.join('; ') || told,
  );
  const known = async (): Promise<number> =>
    (await testbed.rows.query('SELECT 1 FROM processor_event')).length;
  const before = await known();
  await sweep();
  const more = (await known()) - before;
  findings.add('a second reading finds nothing more', more === 0, `${more} found`);
  await proveLostCharges(testbed, findings, sweep);
}

/** A saved card, and a charge of it that takes days, both told by lost events alone. */
async function proveLostCharges(
  testbed: BillingTestbed,
  findings: Findings,
  sweep: () => Promise<void>,
): Promise<void> {
  const { account } = testbed.processor;
  const payer = await testbed.payer();
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
  account.takesDays = true;
  await testbed.runJob('automatic-top-ups');
  account.takesDays = false;
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

interface Lived {
  readonly payer: Payer;
  readonly history: History;
}

async function lived(testbed: BillingTestbed, chance: Chance, most: number): Promise<Lived[]> {
  const lives: Lived[] = [];
  for (let index = 0; index < most; index += 1) {
    const payer = await testbed.payer();
    const cents = BigInt(chance.whole(500, 1_000_000));
    const session = await testbed.checkout(payer, cents);
    lives.push({ payer, history: live(testbed.processor.account, session, cents, chance) });
  }
  return lives;
}

async function wrongBalances(testbed: BillingTestbed, lives: readonly Lived[]): Promise<string[]> {
  const wrong: string[] = [];
  for (const { payer, history } of lives) {
    const balance = await testbed.balance(payer);
    if (balance !== history.expected) wrong.push(`${history.told}: ${balance} for ${history.expected}`);
  }
  return wrong;
}

async function proveForged(testbed: BillingTestbed, findings: Findings, most: number): Promise<void> {
  const payer = await testbed.payer();
  const session = await testbed.checkout(payer, 5_000n);
  testbed.processor.account.pay(session);
  const genuine = testbed.processor.account.events.splice(0);
  const now = Math.floor(Date.now() / 1_000);
  const ways: ((text: string) => [text: string, header: string])[] = [
    (text) => [text, signature(text).replace(/v1=..../, 'v1=0000')],
    (text) => [text, signature(text, undefined, now - 301)],
    (text) => [text, `t=${now},${signature(text, undefined, now - 301)}`],
    (text) => [JSON.stringify(JSON.parse(text), null, 2), signature(text)],
    (text) => [text, signature(text, 'whsec_ofsomebodyelse01')],
    (text) => [text, signature(text, '')],
  ];
  let accepted = 0;
  for (let index = 0; index < most; index += 1) {
    const event = genuine[index % genuine.length];
    const [text, header] = ways[index % ways.length]?.(event?.text ?? '') ?? ['', ''];
    if ((await deliver(testbed.node.url, { text }, header)).status !== 400) accepted += 1;
  }
  const isUntouched = (await testbed.balance(payer)) === 0n;
  findings.over(
    `${most} forged, stale, re-serialised, wrong- and empty-secret events`,
    genuine.length === 0 ? 0 : most,
    accepted + (isUntouched ? 0 : 1),
    `${accepted} accepted`,
  );
}

async function proveTriggers(testbed: BillingTestbed, findings: Findings, most: number): Promise<void> {
  let wrong = 0;
  for (let index = 0; index < most; index += 1) {
    const payer = await testbed.payer();
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
    for (let looks = 0; looks < 4; looks += 1) await testbed.runJob('automatic-top-ups');
    await deliverAll(testbed);
    const charges = testbed.processor.account.charges.size - before;
    if (charges !== 1 || (await testbed.balance(payer)) !== 60n * USD) wrong += 1;
  }
  findings.over(
    `${most} automatic top-ups, each looked at four times by two nodes: one charge`,
    most,
    wrong,
    `${wrong} wrong`,
  );
}

async function proveOutage(testbed: BillingTestbed, findings: Findings): Promise<void> {
  const payer = await testbed.payer();
  const session = await testbed.checkout(payer, 5_000n);
  testbed.processor.account.pay(session);
  const events = testbed.processor.account.events.splice(0);
  await testbed.postgres.kill();
  const during = await Promise.all(events.map((event) => statusOf(testbed, event)));
  await testbed.postgres.launch();
  const after: number[] = [];
  for (const event of [...events, ...events]) after.push(await redelivered(testbed, event));
  const balance = await testbed.balance(payer);
  findings.add(
    'the database is down while events come: 5xx, and redelivery credits once',
    during.every((status) => status >= 500) &&
      after.every((status) => status === 200) &&
      balance === 50n * USD,
    `${during.join(', ')}, then ${after.join(', ')}; balance ${balance}`,
  );
}

const statusOf = async (testbed: BillingTestbed, event: SentEvent): Promise<number> =>
  (await deliver(testbed.node.url, event)).status;

/** As the processor does: again until it is taken. */
async function redelivered(testbed: BillingTestbed, event: SentEvent): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const status = await statusOf(testbed, event);
    if (status < 500 || attempt === 40) return status;
    await delay(250);
  }
}

async function deliverAll(testbed: BillingTestbed): Promise<void> {
  for (const event of testbed.processor.account.events.splice(0)) await deliver(testbed.node.url, event);
}

function shuffled<T>(list: readonly T[], chance: Chance): T[] {
  const order = [...list];
  for (let place = order.length - 1; place > 0; place -= 1) {
    const other = chance.whole(0, place);
    [order[place], order[other]] = [order[other] as T, order[place] as T];
  }
  return order;
}

runProof(main);
