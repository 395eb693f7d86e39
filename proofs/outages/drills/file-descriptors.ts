import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { longStream, mixed, plain, SLOW } from '../catalogue';
import { checkAnswers, checkBooks, checkHolds, checkSurprises } from '../checks';
import type { GatewayNode } from '../testbed';
import { call, isServed, Load, recoveredAfter, type Seen, type Shot, tally, times } from '../load';
import { seconds, spread } from '../report';
import type { Drill, DrillContext } from '../drill';

const OPEN_FILES = 200;
const CALLS_A_SECOND = 40;
/** Calls that are there together: more than connections to their supplier can be. */
const TOGETHER = 30;
const ANSWER_DELAY_MS = 300;
const STREAMS = 10;
const RECOVERY_MS = 2_000;
const EMPTY_MS = 6_000;
/** Long enough for copies that are no longer confirmed to be doubted. */
const CUT_MS = 1_500;
const name = `No more than ${OPEN_FILES} files and sockets, all taken`;

/** A full process can still say these, which tell that it cannot do the work. */
const codes = ['capacity_exceeded', 'billing_unavailable', 'auth_unavailable', 'service_unavailable'];

/** Sockets take all the descriptors a node may have; then even its connections to the database are ended. */
export const fileDescriptors: Drill = {
  name: 'file-descriptors',
  alerts: ['FileDescriptorsLow', 'CapacityExceeded'],
  async run(context) {
    if (process.platform !== 'linux') return context.report.skip(name, 'they are counted in /proc');
    const node = await context.testbed.node('descriptors', { openFiles: OPEN_FILES });
    const idle = new IdleConnections(node);
    try {
      await withoutDescriptors(context, node, idle);
    } finally {
      idle.close();
      await node.stop();
    }
  },
};

async function withoutDescriptors(
  context: DrillContext,
  node: GatewayNode,
  idle: IdleConnections,
): Promise<void> {
  const { testbed, report } = context;
  const endpoint = node.endpoint(testbed.key);
  const load = new Load([endpoint], mixed).start(CALLS_A_SECOND);
  await delay(1_500);
  const streams = Array.from({ length: STREAMS }, (_, place) => call(endpoint, longStream(place, 9)));
  // Their connections stay, and those to another supplier: the next call over them has to connect to this one.
  await Promise.all(Array.from({ length: TOGETHER }, (_, place) => call(endpoint, delayedShot(SLOW, place))));

  await idle.open();
  const emptyAt = performance.now();
  const burst = new Load([endpoint], (place) => delayedShot('chatty', place)).start(
    (TOGETHER * 1_000) / ANSWER_DELAY_MS,
  );
  await delay(CUT_MS);
  // A connection that is lost now cannot be had again: no descriptor is left to connect with.
  await testbed.books.database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name LIKE 'switchboard%' AND datname = current_database()`,
  );
  await delay(EMPTY_MS - CUT_MS);
  const most = idle.most;
  await burst.stop();
  idle.close();
  const freeAt = performance.now();
  await delay(RECOVERY_MS + 1_500);
  await load.stop();
  const open = await Promise.all(streams);

  report.check(
    `${name}: descriptors in use`,
    `all ${OPEN_FILES}, or nearly`,
    `${most}`,
    most > OPEN_FILES - 5,
  );
  const meanwhile = [...load.between(emptyAt, freeAt), ...burst.seen];
  checkAnswers(context, name, meanwhile.filter(isAnswered), codes);
  checkAnswers(context, `${name}: streams open when they ran out`, open, []);
  const recovery = recoveredAfter(load, freeAt);
  report.check(
    `${name}: all served again`,
    `within ${seconds(RECOVERY_MS)}`,
    seconds(recovery),
    recovery <= RECOVERY_MS,
  );
  const { status } = await fetch(`${node.url}/health`);
  report.check(`${name}: GET /health afterwards`, '200', `${status}`, status === 200 && !node.program.over);
  checkSurprises(context, name, node);
  const lost = await checkBooks(context, name, [...load.served, ...burst.served, ...open.filter(isServed)]);
  const held = await checkHolds(context, name, node);
  report.row({
    outage: `${name} for ${seconds(EMPTY_MS)}, the database's connections ended meanwhile, at ${CALLS_A_SECOND}/s`,
    answers: tally(meanwhile),
    time: spread(times(meanwhile.filter(isAnswered))),
    lost,
    recovery: `${seconds(recovery)}; money held: ${held}`,
  });
}

/** A connection that could not be accepted has no answer. */
const isAnswered = ({ ending }: Seen): boolean => ending !== 'no connection';

const delayedShot = (model: string, place: number): Shot => {
  const shot = plain(model, place);
  return { ...shot, prompt: `${shot.prompt} [[delay=${ANSWER_DELAY_MS}]]` };
};

/** Clients that connect, say nothing, and take every free descriptor of a process. */
class IdleConnections {
  /** The most descriptors that the process had open. */
  most = 0;
  private readonly sockets = new Set<Socket>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly node: GatewayNode) {}

  async open(): Promise<void> {
    this.timer = setInterval(() => this.press(), 5);
    for (let waited = 0; this.most < OPEN_FILES - 1 && waited < 5_000; waited += 50) await delay(50);
  }

  close(): void {
    clearInterval(this.timer);
    for (const socket of this.sockets) socket.destroy();
  }

  /** Opens a few connections more than there is room for, because refused ones make room. */
  private press(): void {
    const taken = readdirSync(`/proc/${this.node.program.pid}/fd`).length;
    this.most = Math.max(this.most, taken);
    const { hostname, port } = new URL(this.node.url);
    for (let more = OPEN_FILES + 5 - taken; more > 0; more -= 1) {
      const socket = connect(Number(port), hostname);
      this.sockets.add(socket);
      socket.on('error', () => undefined).resume();
      socket.on('close', () => this.sockets.delete(socket));
    }
  }
}
