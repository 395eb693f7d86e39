import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { longStreamShot, mixedShot, plainShot, SLOW } from '../catalogue';
import { checkAnswers, checkBooks, checkHolds, checkUncaughtErrors } from '../checks';
import type { GatewayProcess } from '../testbed';
import { call, isServed, Load, recoveredAfter, type ObservedCall, type Shot, tally, times } from '../load';
import { seconds, spread } from '../report';
import type { OutageDrill, OutageDrillContext } from '../drill';

const MAX_OPEN_FILES = 200;
const CALLS_PER_SECOND = 40;
/** Concurrent calls: more than their supplier accepts connections. */
const CONCURRENT_CALLS = 30;
const RESPONSE_DELAY_MS = 300;
const STREAM_COUNT = 10;
const RECOVERY_MS = 2_000;
const EXHAUSTION_MS = 6_000;
/** Long enough for cached copies to become stale without confirmation. */
const CUT_MS = 1_500;
const name = `No more than ${MAX_OPEN_FILES} files and sockets, all taken`;

/** Codes that a process without free descriptors can still return, to report that it cannot serve. */
const codes = ['capacity_exceeded', 'billing_unavailable', 'auth_unavailable', 'service_unavailable'];

/** Sockets take all file descriptors of a node; then even its database connections are closed. */
export const fileDescriptors: OutageDrill = {
  name: 'file-descriptors',
  alerts: ['FileDescriptorsLow', 'CapacityExceeded'],
  async run(context) {
    if (process.platform !== 'linux') return context.report.skip(name, 'they are counted in /proc');
    const node = await context.testbed.startNode('descriptors', { openFiles: MAX_OPEN_FILES });
    const idle = new IdleConnections(node);
    try {
      await exhaustDescriptors(context, node, idle);
    } finally {
      idle.close();
      await node.stop();
    }
  },
};

async function exhaustDescriptors(
  context: OutageDrillContext,
  node: GatewayProcess,
  idle: IdleConnections,
): Promise<void> {
  const { testbed, report } = context;
  const endpoint = node.endpoint(testbed.key);
  const load = new Load([endpoint], mixedShot).start(CALLS_PER_SECOND);
  await delay(1_500);
  const streams = Array.from({ length: STREAM_COUNT }, (_, index) =>
    call(endpoint, longStreamShot(index, 9)),
  );
  // Connections of these calls to another supplier stay open, so the next call has to open a new one to this supplier.
  await Promise.all(
    Array.from({ length: CONCURRENT_CALLS }, (_, index) => call(endpoint, delayedShot(SLOW, index))),
  );

  await idle.open();
  const exhaustedAt = performance.now();
  const burst = new Load([endpoint], (index) => delayedShot('chatty', index)).start(
    (CONCURRENT_CALLS * 1_000) / RESPONSE_DELAY_MS,
  );
  await delay(CUT_MS);
  // A lost connection cannot be reopened, because no descriptor is left.
  await testbed.books.database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE application_name LIKE 'switchboard%' AND datname = current_database()`,
  );
  await delay(EXHAUSTION_MS - CUT_MS);
  const maxOpen = idle.maxOpen;
  await burst.stop();
  idle.close();
  const freeAt = performance.now();
  await delay(RECOVERY_MS + 1_500);
  await load.stop();
  const open = await Promise.all(streams);

  report.check(
    `${name}: descriptors in use`,
    `all ${MAX_OPEN_FILES}, or nearly`,
    `${maxOpen}`,
    maxOpen > MAX_OPEN_FILES - 5,
  );
  const duringExhaustion = [...load.between(exhaustedAt, freeAt), ...burst.seen];
  checkAnswers(context, name, duringExhaustion.filter(isAnswered), codes);
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
  checkUncaughtErrors(context, name, node);
  const lost = await checkBooks(context, name, [...load.served, ...burst.served, ...open.filter(isServed)]);
  const held = await checkHolds(context, name, node);
  report.row({
    outage: `${name} for ${seconds(EXHAUSTION_MS)}, the database's connections ended meanwhile, at ${CALLS_PER_SECOND}/s`,
    answers: tally(duringExhaustion),
    time: spread(times(duringExhaustion.filter(isAnswered))),
    lost,
    recovery: `${seconds(recovery)}; money held: ${held}`,
  });
}

/** A connection that could not be accepted has no response. */
const isAnswered = ({ ending }: ObservedCall): boolean => ending !== 'no connection';

const delayedShot = (model: string, index: number): Shot => {
  const shot = plainShot(model, index);
  return { ...shot, prompt: `${shot.prompt} [[delay=${RESPONSE_DELAY_MS}]]` };
};

/** Clients that connect, send nothing and take every free descriptor of a process. */
class IdleConnections {
  /** Maximum number of open descriptors of the process. */
  maxOpen = 0;
  private readonly sockets = new Set<Socket>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly node: GatewayProcess) {}

  async open(): Promise<void> {
    this.timer = setInterval(() => this.openMore(), 5);
    for (let waitedMs = 0; this.maxOpen < MAX_OPEN_FILES - 1 && waitedMs < 5_000; waitedMs += 50)
      await delay(50);
  }

  close(): void {
    clearInterval(this.timer);
    for (const socket of this.sockets) socket.destroy();
  }

  /** Opens a few more connections than there is room for, because refused ones free a slot. */
  private openMore(): void {
    const openCount = readdirSync(`/proc/${this.node.program.pid}/fd`).length;
    this.maxOpen = Math.max(this.maxOpen, openCount);
    const { hostname, port } = new URL(this.node.url);
    for (let remaining = MAX_OPEN_FILES + 5 - openCount; remaining > 0; remaining -= 1) {
      const socket = connect(Number(port), hostname);
      this.sockets.add(socket);
      socket.on('error', () => undefined).resume();
      socket.on('close', () => this.sockets.delete(socket));
    }
  }
}
