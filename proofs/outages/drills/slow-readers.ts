import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { ENDLESS, plainShot } from '../catalogue';
import { checkAnswers, checkBooks, checkHolds, checkUncaughtErrors } from '../checks';
import type { GatewayProcess, NewKey } from '../testbed';
import { Load, type Shot, tally, times } from '../load';
import { seconds, spread } from '../report';
import { DripReader } from '../slow-reader';
import type { OutageDrill, OutageDrillContext } from '../drill';

const MAX_READERS = 500;
/** Approximate bytes of an event per token. */
const TOKEN_BYTES = 269;
const PAGE_BYTES = 4_096;
const OTHER_CALLS_PER_SECOND = 10;
/** A busy process has not yet freed parts of the responses; the benchmark measures what remains in memory. */
const MAX_MEMORY_SHARE = 0.5;
/** Together they request a gigabyte, which takes a two-core machine some time to send. */
const ARRIVAL_INTERVAL_MS = 125;
/** Time from the first reader until no bytes move any more. */
const FILL_MS = 90_000;
/**
 * Tolerance for the last disconnect after twice the timeout: progress is checked once per timeout, so a stall is
 * detected within one or two.
 */
const SLACK_MS = 15_000;
const name = 'Callers who read a byte a second';

/** Returns the first or last number of a kernel setting. */
function kernelSetting(file: string, bound: 'least' | 'most'): number {
  const numbers = readFileSync(`/proc/sys/net/ipv4/${file}`, 'utf8').trim().split(/\s+/).map(Number);
  return (bound === 'least' ? numbers.at(0) : numbers.at(-1)) ?? NaN;
}

/** A third more than the kernel buffers for an unread connection. */
const responseBytes = (): number => 1.3 * kernelSetting('tcp_wmem', 'most');

/** As many readers as the kernel has buffers for; with more, other callers would wait for the kernel. */
const maxReadersHere = (max: number): number =>
  Math.min(max, Math.floor((kernelSetting('tcp_mem', 'least') * PAGE_BYTES) / responseBytes()));

const endlessShot = (tokens: number): Shot => ({
  dialect: 'chat',
  model: ENDLESS,
  stream: true,
  prompt: `Go on [[tokens=${tokens}]]`,
});

/** A caller that reads nothing for a minute is disconnected and pays for the delivered part; no other caller waits. */
export const slowReaders: OutageDrill = {
  name: 'slow-readers',
  alerts: ['CallersLeave'],
  async run(context) {
    const { testbed, report, isQuick: quick } = context;
    if (process.platform !== 'linux') return report.skip(name, 'what the kernel keeps is asked of Linux');
    const [maxReaders, stallSeconds] = quick ? [60, 5] : [MAX_READERS, 60];
    const count = maxReadersHere(maxReaders);
    if (count === 0) return report.skip(name, 'the kernel has buffers for none');
    if (count < maxReaders)
      report.skip(`${maxReaders - count} of ${maxReaders} such callers`, 'the kernel has no buffers');
    const tokens = Math.ceil(responseBytes() / TOKEN_BYTES);
    const environment = { CLIENT_STALL_TIMEOUT: `${stallSeconds}s`, SUPPLIER_CONNECTIONS: '600' };
    const node = await testbed.startNode('slow-readers', { environment });
    const key = await testbed.createKey(testbed.shared, { name: 'that reads slowly' });
    const readers: DripReader[] = [];
    try {
      await readSlowly(context, { node, key, readers, count, tokens, stallMs: stallSeconds * 1_000 });
    } finally {
      for (const reader of readers) reader.disconnect();
      await node.stop();
    }
  },
};

interface SlowReaderScene {
  readonly node: GatewayProcess;
  readonly key: NewKey;
  readonly readers: DripReader[];
  readonly count: number;
  readonly tokens: number;
  readonly stallMs: number;
}

async function readSlowly(context: OutageDrillContext, scene: SlowReaderScene): Promise<void> {
  const { node, key, readers, count, tokens, stallMs } = scene;
  const { testbed, report } = context;
  const others = new Load([node.endpoint(testbed.key)], (index) => plainShot('chatty', index)).start(
    OTHER_CALLS_PER_SECOND,
  );
  await delay(1_000);
  const residentBefore = residentKib(node);
  const startedAt = performance.now();
  while (readers.length < count) {
    readers.push(await DripReader.open(node.endpoint(key.text), endlessShot(tokens)));
    await delay(ARRIVAL_INTERVAL_MS);
  }
  // The node is polled, because disconnected callers notice only after reading the kernel's buffers.
  const activeStreams = (): Promise<number> => node.gauge('gateway_streams_active{endpoint="chat"}');
  const elapsed = (): number => performance.now() - startedAt;
  let [maxResident, openCount, soonest, hasAllArrived] = [residentBefore, count, Infinity, false];
  while ((openCount > 0 || !hasAllArrived) && elapsed() < FILL_MS + 2 * stallMs + SLACK_MS) {
    await delay(250);
    openCount = await activeStreams();
    if (openCount === count) hasAllArrived = true;
    else if (hasAllArrived) soonest = Math.min(soonest, elapsed());
    maxResident = Math.max(maxResident, residentKib(node));
  }
  const after = elapsed();
  await others.stop();

  const what = `${name} (${count})`;
  report.check(
    `${what}: left when nothing had moved for ${seconds(stallMs)}`,
    `all, none sooner`,
    `${count - openCount}, ${seconds(soonest)} to ${seconds(after)} after the first came`,
    hasAllArrived && openCount === 0 && soonest >= stallMs,
  );
  const [grownKib, responseKib] = [maxResident - residentBefore, (count * responseBytes()) / 1_024];
  report.check(
    `${what}: growth of the node`,
    `<= ${MAX_MEMORY_SHARE * 100} % of ${mebibytes(responseKib)}`,
    mebibytes(grownKib),
    grownKib <= MAX_MEMORY_SHARE * responseKib,
  );
  checkAnswers(context, `${what}: everybody else`, others.seen, []);
  const bills = await countAbortedCharges(context, scene);
  report.check(
    `${what}: billed once, for less than the whole answer`,
    `${count}`,
    `${bills}`,
    bills === count,
  );
  const lost = await checkBooks(context, name, others.served);
  const held = await checkHolds(context, name, node);
  checkUncaughtErrors(context, name, node);
  report.row({
    outage: `${count} callers who read a byte a second`,
    answers: `left after ${seconds(stallMs)} without progress; everybody else ${tally(others.seen)}`,
    time: `everybody else ${spread(times(others.seen))}`,
    lost,
    recovery: `the node grew by ${mebibytes(grownKib)}; money held: ${held}`,
  });
}

const mebibytes = (kibibytes: number): string => `${Math.round(kibibytes / 1_024).toLocaleString('en')} MiB`;

const residentKib = ({ program }: GatewayProcess): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${program.pid}/status`, 'utf8'))?.[1] ?? NaN);

/** Number of readers with exactly one charge, settled as an aborted stream. */
async function countAbortedCharges(
  { testbed: { books } }: OutageDrillContext,
  { key, count, tokens }: SlowReaderScene,
): Promise<number> {
  for (let waitedMs = 0; ; waitedMs += 200) {
    const all = await books.recordsOfKey(key.publicId);
    const abortedCharges = all.filter(
      ({ code, costNano, outputTokens }) =>
        code === 'caller_left' && costNano > 0n && outputTokens > 0 && outputTokens < tokens,
    );
    if (abortedCharges.length === count || waitedMs >= 10_000)
      return all.length === abortedCharges.length ? abortedCharges.length : -all.length;
    await delay(200);
  }
}
