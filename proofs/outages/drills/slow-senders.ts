import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { mixed } from '../catalogue';
import { checkAnswers, checkBooks, checkSurprises } from '../checks';
import { Load, tally, times } from '../load';
import { seconds, spread } from '../report';
import type { Drill, DrillContext } from '../drill';

const MOST_IDLE = 10_000;
/** For everything else this process has open. */
const RESERVED = 2_000;
const AT_A_TIME = 100;
const DRIPPERS = 20;
const DRIP_MS = 200;
const CALLS_A_SECOND = 20;
const HEADERS_MS = 10_000;
const BODY_MS = 30_000;
/** Connections are looked through every two seconds, and the machine has other things to do. */
const SLACK_MS = 5_000;
const name = 'Callers who do not get to the point';

/** Connections that say nothing, headers and bodies that come letter by letter: at the product's own limits. */
export const slowSenders: Drill = {
  name: 'slow-senders',
  alerts: ['SendersSlow'],
  async run(context) {
    const { testbed, report } = context;
    const node = await testbed.node('slow-senders');
    const endpoint = node.endpoint(testbed.key);
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\ncontent-type: application/json\r\nauthorization: Bearer ${testbed.key}\r\n`;
    const load = new Load([endpoint], mixed).start(CALLS_A_SECOND);
    const senders: Sender[] = [];
    try {
      for (let place = 0; place < DRIPPERS; place += 1) {
        senders.push(await Sender.open(node.url, 'header', head + 'x-much: '));
        senders.push(await Sender.open(node.url, 'body', `${head}content-length: 100000\r\n\r\n`));
      }
      const count = Math.min(MOST_IDLE, openFiles() - RESERVED);
      while (senders.length < count) {
        const more = Array.from({ length: AT_A_TIME }, () => Sender.open(node.url, 'idle'));
        senders.push(...(await Promise.all(more)));
      }
      await Promise.race([
        Promise.all(senders.map(({ closed }) => closed)),
        delay(BODY_MS + SLACK_MS, undefined, { ref: false }),
      ]);
    } finally {
      for (const sender of senders) sender.leave();
    }
    await load.stop();
    for (const kind of ['idle', 'header', 'body'] as const) check(context, senders, kind);
    checkAnswers(context, `${name}: everybody else`, load.seen, []);
    const lost = await checkBooks(context, name, load.served);
    checkSurprises(context, name, node);
    await node.stop();
    report.row({
      outage: `${senders.length.toLocaleString('en')} ${name.toLowerCase()}`,
      answers: `408 or nothing, and closed after ${seconds(HEADERS_MS)} (body: ${seconds(BODY_MS)}); everybody else ${tally(load.seen)}`,
      time: `everybody else ${spread(times(load.seen))}`,
      lost,
      recovery: 'none needed',
    });
  },
};

type Kind = 'idle' | 'header' | 'body';

function check({ report }: DrillContext, all: readonly Sender[], kind: Kind): void {
  const senders = all.filter((sender) => sender.kind === kind);
  const limit = kind === 'body' ? BODY_MS : HEADERS_MS;
  const stays = senders.map(({ connectedMs }) => connectedMs ?? Infinity);
  const [soonest, latest] = [Math.min(...stays), Math.max(...stays)];
  report.check(
    `${name}: ${senders.length.toLocaleString('en')} × ${kind}: closed`,
    `after ${seconds(limit)} to ${seconds(limit + SLACK_MS)}`,
    `${seconds(soonest)} to ${seconds(latest)}`,
    soonest >= limit - 500 && latest <= limit + SLACK_MS,
  );
  if (kind === 'idle') return;
  const told = senders.filter(({ text }) => /^HTTP\/1\.1 408 .*"code":"request_timeout"/s.test(text)).length;
  report.check(
    `${name}: ${kind} letter by letter: 408 request_timeout`,
    `${senders.length}`,
    `${told}`,
    told === senders.length,
  );
}

/** One that connects and takes its time. */
class Sender {
  text = '';
  connectedMs: number | null = null;
  readonly closed: Promise<void>;
  private readonly timer: NodeJS.Timeout | undefined;

  private constructor(
    private readonly socket: Socket,
    readonly kind: Kind,
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
    this.timer = setInterval(() => void (socket.writable && socket.write('x')), DRIP_MS);
  }

  static async open(url: string, kind: Kind, begin = ''): Promise<Sender> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.on('error', () => undefined);
    return new Sender(socket, kind, begin);
  }

  leave(): void {
    this.socket.destroy();
  }
}

/** A process that was started like this one may have so many files open. */
const openFiles = (): number => {
  const text = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim();
  return text === 'unlimited' ? Infinity : Number(text);
};
