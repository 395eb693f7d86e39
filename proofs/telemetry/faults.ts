import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { longStream, mixed, NEIGHBOUR, plain } from '../outages/catalogue';
import { call, Load } from '../outages/load';
import { smallDisk } from '../outages/room';
import type { GatewayNode } from '../outages/testbed';
import type { Scene } from './scene';

const HOUR_MS = 3_600_000;
/** More than what is nearly full, while it is empty. */
const DISK = '320m';

/** A fault of `prove:outages` as an operator would hear of it. */
export interface Fault {
  readonly name: string;
  /** The drill that tries the same under load. */
  readonly drill: string;
  readonly alerts: readonly string[];
  /** These end by themselves once the fault is over, within a time that a proof can wait for. */
  readonly goes: readonly string[];
  /** Returns the reason where it cannot be tried here. */
  prepare(scene: Scene): Promise<Prepared | string>;
}

interface Prepared {
  /** A node of its own, which is scraped before the fault. */
  readonly node?: GatewayNode;
  strike(): Promise<void> | void;
  mend(): Promise<void> | void;
  close?(): Promise<void> | void;
}

const databaseStopped: Fault = {
  name: 'PostgreSQL shut down',
  drill: 'database',
  alerts: ['DatabaseDown', 'NodeNotReady', 'MoneyLeaseNotRenewed', 'MoneyLeaseInvalid', 'RequestsFailing'],
  goes: ['DatabaseDown', 'NodeNotReady', 'MoneyLeaseNotRenewed', 'MoneyLeaseInvalid'],
  prepare({ testbed, node }) {
    const load = new Load([node.endpoint(testbed.key)], mixed);
    return Promise.resolve({
      strike: async () => {
        await testbed.postgres.shutDown();
        load.start(5);
      },
      mend: async () => {
        await load.stop();
        await testbed.postgres.launch();
      },
    });
  },
};

const redisStopped: Fault = {
  name: 'Redis silent (SIGSTOP)',
  drill: 'redis',
  alerts: ['RedisDown'],
  goes: ['RedisDown'],
  prepare({ redis, node, testbed }) {
    // Callers find out, and the look every second.
    const load = new Load([node.endpoint(testbed.key)], mixed);
    return Promise.resolve({
      strike: () => {
        redis.signal('SIGSTOP');
        load.start(5);
      },
      mend: async () => {
        redis.signal('SIGCONT');
        await load.stop();
      },
    });
  },
};

const supplierDown: Fault = {
  name: 'A supplier refuses our credential twice, then answers 503',
  drill: 'slow-supplier',
  alerts: ['LaneOpen', 'SupplierFailing', 'CredentialRefused'],
  goes: ['LaneOpen', 'CredentialRefused'],
  prepare({ testbed, node }) {
    // Nobody has called it before.
    const match = { model: `sim-${NEIGHBOUR}` };
    const load = new Load([node.endpoint(testbed.key)], (place) => plain(NEIGHBOUR, place));
    return Promise.resolve({
      strike: async () => {
        await testbed.slow.fault({ match, times: 2, fault: { kind: 'status', status: 401 } });
        await testbed.slow.fault({ match, fault: { kind: 'status', status: 503 } });
        load.start(10);
      },
      mend: () => testbed.slow.clearFaults(),
      close: () => load.stop(),
    });
  },
};

const journalFull: Fault = {
  name: 'Disk of the journal full',
  drill: 'full-disk',
  alerts: ['JournalNotWritable', 'DiskNearlyFull', 'NodeNotReady'],
  goes: ['JournalNotWritable', 'DiskNearlyFull', 'NodeNotReady'],
  async prepare({ testbed }) {
    const folder = join(testbed.postgres.folder, 'full', 'journal');
    mkdirSync(folder, { recursive: true });
    const room = smallDisk(folder, DISK);
    if (room === null) return 'nothing may be mounted';
    const node = await testbed.node('full');
    const load = new Load([node.endpoint(testbed.key)], mixed);
    return {
      node,
      strike: () => {
        room.take(node);
        load.start(5);
      },
      mend: async () => {
        await load.stop();
        room.giveBack(node);
      },
      close: async () => {
        await node.stop();
        room.close();
      },
    };
  },
};

const embeddedKilled: Fault = {
  name: 'The embedded PostgreSQL killed (SIGKILL)',
  drill: 'embedded-database',
  alerts: ['EmbeddedDatabaseEnds'],
  goes: [],
  async prepare({ testbed }) {
    // The account of the server has to get there.
    mkdirSync(join(testbed.postgres.folder, 'embedded'), { mode: 0o711 });
    const node = await testbed.node('embedded', { isEmbedded: true });
    const postmaster = join(node.dataFolder, 'postgres', 'cluster', 'postmaster.pid');
    return {
      node,
      strike: () => void process.kill(parseInt(readFileSync(postmaster, 'utf8'), 10), 'SIGKILL'),
      mend: () => undefined,
      close: () => node.stop(),
    };
  },
};

const nodeKilled: Fault = {
  name: 'A node killed (SIGKILL)',
  drill: 'rolling-restart',
  alerts: ['NodeDown'],
  goes: [],
  async prepare({ testbed }) {
    const node = await testbed.node('killed');
    return { node, strike: () => node.program.kill(), mend: () => undefined };
  },
};

const overloaded: Fault = {
  name: 'More calls than a node may have open',
  drill: 'overload',
  alerts: ['OpenRequestsNearLimit', 'CapacityExceeded'],
  goes: ['OpenRequestsNearLimit'],
  async prepare({ testbed }) {
    const node = await testbed.node('overloaded', { environment: { OPEN_REQUESTS_LIMIT: '5' } });
    const endpoint = node.endpoint(testbed.key);
    const load = new Load([endpoint], mixed);
    let streams: Promise<unknown>[] = [];
    return {
      node,
      strike: () => {
        streams = Array.from({ length: 5 }, (_, place) => call(endpoint, longStream(place, 12)));
        load.start(5);
      },
      mend: async () => {
        await load.stop();
        await Promise.all(streams);
      },
      close: () => node.stop(),
    };
  },
};

const clockSet: Fault = {
  name: 'The clock of a node an hour back',
  drill: 'clock-jump',
  alerts: ['ClockWrong'],
  goes: ['ClockWrong'],
  async prepare({ testbed }) {
    const file = join(testbed.postgres.folder, 'telemetry-clock');
    writeFileSync(file, '0');
    const node = await testbed.node('clock', {
      preload: 'proofs/outages/shifted-clock.js',
      environment: { CLOCK_SHIFT_FILE: file, WORKERS: 'inline' },
    });
    const shift = async (to: number): Promise<void> => {
      writeFileSync(file, String(to));
      node.program.signal('SIGUSR2');
      await node.program.find(new RegExp(`shifted by ${to} ms`));
    };
    return { node, strike: () => shift(-HOUR_MS), mend: () => shift(0), close: () => node.stop() };
  },
};

/** Requests that failed count for five minutes, so the fault whose alert they are comes first. */
export const faults: readonly Fault[] = [
  databaseStopped,
  redisStopped,
  supplierDown,
  journalFull,
  embeddedKilled,
  overloaded,
  clockSet,
  nodeKilled,
];
