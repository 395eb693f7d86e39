import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { mixedShot } from '../catalogue';
import { checkAnswers, checkBooks, checkUncaughtErrors } from '../checks';
import { Load, tally, times } from '../load';
import { seconds, spread } from '../report';
import type { OutageDrill, OutageDrillContext } from '../drill';

const MAX_IDLE_CONNECTIONS = 10_000;
/** File descriptors for everything else in this process. */
const RESERVED_FILES = 2_000;
const BATCH_SIZE = 100;
const DRIP_COUNT = 20;
const DRIP_INTERVAL_MS = 200;
const CALLS_PER_SECOND = 20;
const HEADERS_TIMEOUT_MS = 10_000;
const BODY_TIMEOUT_MS = 30_000;
/** Connections are checked every two seconds, and the machine may be busy. */
const SLACK_MS = 5_000;
const name = 'Callers who do not get to the point';

/** Idle connections, and headers and bodies sent byte by byte, against the product's default timeouts. */
export const slowSenders: OutageDrill = {
  name: 'slow-senders',
  alerts: ['SendersSlow'],
  async run(context) {
    const { testbed, report } = context;
    const node = await testbed.startNode('slow-senders');
    const endpoint = node.endpoint(testbed.key);
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\nauthorization: Bearer ${testbed.key}\r\n`;
    const load = new Load([endpoint], mixedShot).start(CALLS_PER_SECOND);
    const senders: SlowSender[] = [];
    try {
      for (let index = 0; index < DRIP_COUNT; index += 1) {
        senders.push(await SlowSender.open(node.url, 'header', head + 'x-much: '));
        senders.push(await SlowSender.open(node.url, 'body', `${head}content-length: 100000\r\n\r\n`));
      }
      const count = Math.min(MAX_IDLE_CONNECTIONS, openFilesLimit() - RESERVED_FILES);
      while (senders.length < count) {
        const opened = Array.from({ length: BATCH_SIZE }, () => SlowSender.open(node.url, 'idle'));
        senders.push(...(await Promise.all(opened)));
      }
      await Promise.race([
        Promise.all(senders.map(({ closed }) => closed)),
        delay(BODY_TIMEOUT_MS + SLACK_MS, undefined, { ref: false }),
      ]);
    } finally {
      for (const sender of senders) sender.disconnect();
    }
    await load.stop();
    for (const kind of ['idle', 'header', 'body'] as const) checkSenders(context, senders, kind);
    checkAnswers(context, `${name}: everybody else`, load.seen, []);
    const lost = await checkBooks(context, name, load.served);
    checkUncaughtErrors(context, name, node);
    await node.stop();
    report.row({
      outage: `${senders.length.toLocaleString('en')} ${name.toLowerCase()}`,
      answers: `408 or nothing, and closed after ${seconds(HEADERS_TIMEOUT_MS)} (body: ${seconds(BODY_TIMEOUT_MS)}); everybody else ${tally(load.seen)}`,
      time: `everybody else ${spread(times(load.seen))}`,
      lost,
      recovery: 'none needed',
    });
  },
};

type SenderKind = 'idle' | 'header' | 'body';

function checkSenders({ report }: OutageDrillContext, all: readonly SlowSender[], kind: SenderKind): void {
  const senders = all.filter((sender) => sender.kind === kind);
  const limit = kind === 'body' ? BODY_TIMEOUT_MS : HEADERS_TIMEOUT_MS;
  const connectedTimes = senders.map(({ connectedMs }) => connectedMs ?? Infinity);
  const [soonest, latest] = [Math.min(...connectedTimes), Math.max(...connectedTimes)];
  report.check(
    `${name}: ${senders.length.toLocaleString('en')} × ${kind}: closed`,
    `after ${seconds(limit)} to ${seconds(limit + SLACK_MS)}`,
    `${seconds(soonest)} to ${seconds(latest)}`,
    soonest >= limit - 500 && latest <= limit + SLACK_MS,
  );
  if (kind === 'idle') return;
  const timeoutResponses = senders.filter(({ text }) =>
    /^HTTP\/1\.1 408 .*"code":"request_timeout"/s.test(text),
  ).length;
  report.check(
    `${name}: ${kind} letter by letter: 408 request_timeout`,
    `${senders.length}`,
    `${timeoutResponses}`,
    timeoutResponses === senders.length,
  );
}

/** Client that connects and sends slowly. */
class SlowSender {
  text = '';
  connectedMs: number | null = null;
  readonly closed: Promise<void>;
  private readonly timer: NodeJS.Timeout | undefined;

  private constructor(
    private readonly socket: Socket,
    readonly kind: SenderKind,
    begin: string,
  ) {
    const since = performance.now();
    socket.setEncoding('latin1').on('data', (text: string) => (this.text += text));
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.connectedMs = performance.now() - since;
        clearInterval(this.timer);
        resolve();
      });
    });
    if (begin === '') return;
    socket.write(begin);
    this.timer = setInterval(() => void (socket.writable && socket.write('x')), DRIP_INTERVAL_MS);
  }

  static async open(url: string, kind: SenderKind, begin = ''): Promise<SlowSender> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.on('error', () => undefined);
    return new SlowSender(socket, kind, begin);
  }

  disconnect(): void {
    this.socket.destroy();
  }
}

/** File descriptor limit of a process started like this one. */
const openFilesLimit = (): number => {
  const text = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
  return text === 'unlimited' ? Infinity : Number(text);
};
