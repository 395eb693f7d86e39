import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ENDLESS, plain } from '../catalogue';
import { checkAnswers, checkBooks, checkHolds, checkSurprises } from '../checks';
import type { GatewayNode, NewKey } from '../testbed';
import { Load, type Shot, tally, times } from '../load';
import { seconds, spread } from '../report';
import { SlowReader } from '../slow-reader';
import type { Drill, DrillContext } from '../drill';

const MOST_READERS = 500;
/** An event has about so many bytes for a token. */
const TOKEN_BYTES = 269;
const PAGE_BYTES = 4_096;
const OTHERS_A_SECOND = 10;
/** A busy process has not yet freed part of the answers. The bench measures what stays in memory. */
const MEMORY_SHARE = 0.5;
/** Together they ask for a gigabyte, which takes a machine of two cores some time to send. */
const ARRIVE_MS = 125;
/** From the first reader to the moment when nothing moves any more. */
const FILL_MS = 90_000;
/**
 * The margin for the last cut after twice the limit. Progress is checked once a limit, so a standstill lasts one or
 * two limits.
 */
const SLACK_MS = 15_000;
const name = 'Callers who read a byte a second';

/** The last of the numbers in a file of the kernel's settings, or the first. */
function kernelSetting(file: string, which: 'least' | 'most'): number {
  const numbers = readFileSync(`/proc/sys/net/ipv4/${file}`, 'utf8').trim().split(/\s+/).map(Number);
  return (which === 'least' ? numbers.at(0) : numbers.at(-1)) ?? NaN;
}

/** A third more than the kernel keeps for a connection that is not read. */
const answerBytes = (): number => 1.3 * kernelSetting('tcp_wmem', 'most');

/** As many as the kernel has buffers for. With more, the other callers would wait for the kernel. */
const readersHere = (most: number): number =>
  Math.min(most, Math.floor((kernelSetting('tcp_mem', 'least') * PAGE_BYTES) / answerBytes()));

const endless = (tokens: number): Shot => ({
  dialect: 'chat',
  model: ENDLESS,
  stream: true,
  prompt: `Go on [[tokens=${tokens}]]`,
});

/** A caller who reads nothing for a minute is cut off and pays for what was delivered; no other caller waits. */
export const slowReaders: Drill = {
  name: 'slow-readers',
  alerts: ['CallersLeave'],
  async run(context) {
    const { testbed, report, quick } = context;
    if (process.platform !== 'linux') return report.skip(name, 'what the kernel keeps is asked of Linux');
    const [most, stallSeconds] = quick ? [60, 5] : [MOST_READERS, 60];
    const count = readersHere(most);
    if (count === 0) return report.skip(name, 'the kernel has buffers for none');
    if (count < most) report.skip(`${most - count} of ${most} such callers`, 'the kernel has no buffers');
    const tokens = Math.ceil(answerBytes() / TOKEN_BYTES);
    const environment = { CLIENT_STALL_TIMEOUT: `${stallSeconds}s`, SUPPLIER_CONNECTIONS: '600' };
    const node = await testbed.node('slow-readers', { environment });
    const key = await testbed.makeKey(testbed.shared, { name: 'that reads slowly' });
    const readers: SlowReader[] = [];
    try {
      await readSlowly(context, { node, key, readers, count, tokens, stallMs: stallSeconds * 1_000 });
    } finally {
      for (const reader of readers) reader.leave();
      await node.stop();
    }
  },
};

interface Scene {
  readonly node: GatewayNode;
  readonly key: NewKey;
  readonly readers: SlowReader[];
  readonly count: number;
  readonly tokens: number;
  readonly stallMs: number;
}

async function readSlowly(context: DrillContext, scene: Scene): Promise<void> {
  const { node, key, readers, count, tokens, stallMs } = scene;
  const { testbed, report } = context;
  const others = new Load([node.endpoint(testbed.key)], (place) => plain('chatty', place)).start(
    OTHERS_A_SECOND,
  );
  await delay(1_000);
  const before = residentKib(node);
  const startedAt = performance.now();
  while (readers.length < count) {
    readers.push(await SlowReader.open(node.endpoint(key.text), endless(tokens)));
    await delay(ARRIVE_MS);
  }
  // Those who are left find out only when they have read what the kernel had for them: the node has to be asked.
  const activeStreams = (): Promise<number> => node.gauge('gateway_streams_active{endpoint="chat"}');
  const elapsed = (): number => performance.now() - startedAt;
  let [most, left, soonest, allCame] = [before, count, Infinity, false];
  while ((left > 0 || !allCame) && elapsed() < FILL_MS + 2 * stallMs + SLACK_MS) {
    await delay(250);
    left = await activeStreams();
    if (left === count) allCame = true;
    else if (allCame) soonest = Math.min(soonest, elapsed());
    most = Math.max(most, residentKib(node));
  }
  const after = elapsed();
  await others.stop();

  const what = `${name} (${count})`;
  report.check(
    `${what}: left when nothing had moved for ${seconds(stallMs)}`,
    `all, none sooner`,
    `${count - left}, ${seconds(soonest)} to ${seconds(after)} after the first came`,
    allCame && left === 0 && soonest >= stallMs,
  );
  const [grown, said] = [most - before, (count * answerBytes()) / 1_024];
  report.check(
    `${what}: growth of the node`,
    `<= ${MEMORY_SHARE * 100} % of ${mebibytes(said)}`,
    mebibytes(grown),
    grown <= MEMORY_SHARE * said,
  );
  checkAnswers(context, `${what}: everybody else`, others.seen, []);
  const bills = await billsOf(context, scene);
  report.check(
    `${what}: billed once, for less than the whole answer`,
    `${count}`,
    `${bills}`,
    bills === count,
  );
  const lost = await checkBooks(context, name, others.served);
  const held = await checkHolds(context, name, node);
  checkSurprises(context, name, node);
  report.row({
    outage: `${count} callers who read a byte a second`,
    answers: `left after ${seconds(stallMs)} without progress; everybody else ${tally(others.seen)}`,
    time: `everybody else ${spread(times(others.seen))}`,
    lost,
    recovery: `the node grew by ${mebibytes(grown)}; money held: ${held}`,
  });
}

const mebibytes = (kibibytes: number): string => `${Math.round(kibibytes / 1_024).toLocaleString('en')} MiB`;

const residentKib = ({ program }: GatewayNode): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${program.pid}/status`, 'utf8'))?.[1] ?? NaN);

/** So many of them have one bill, settled as broken off. */
async function billsOf({ testbed: { books } }: DrillContext, { key, count, tokens }: Scene): Promise<number> {
  for (let waited = 0; ; waited += 200) {
    const all = await books.recordsOfKey(key.publicId);
    const good = all.filter(
      ({ code, costNano, outputTokens }) =>
        code === 'caller_left' && costNano > 0n && outputTokens > 0 && outputTokens < tokens,
    );
    if (good.length === count || waited >= 10_000)
      return all.length === good.length ? good.length : -all.length;
    await delay(200);
  }
}
