import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { longStreamShot, mixedShot, NEIGHBOUR, plainShot } from '../outages/catalogue';
import { call, Load } from '../outages/load';
import { mountSmallDisk } from '../outages/disk-limit';
import type { GatewayProcess } from '../outages/testbed';
import type { TelemetryTestbed } from './scene';

const HOUR_MS = 3_600_000;
/** Larger than the nearly-full threshold while it is empty. */
const DISK_SIZE = '320m';

/** A fault of `prove:outages` from an operator's point of view. */
export interface TelemetryFault {
  readonly name: string;
  /** Drill that tests the fault under load. */
  readonly drill: string;
  readonly alerts: readonly string[];
  /** Alerts that resolve automatically after the fault within the proof's time limit. */
  readonly resolvingAlerts: readonly string[];
  /** Returns a reason if the fault cannot be tested here. */
  prepare(scene: TelemetryTestbed): Promise<PreparedFault | string>;
}

interface PreparedFault {
  /** Separate node, scraped before the fault. */
  readonly node?: GatewayProcess;
  strike(): Promise<void> | void;
  mend(): Promise<void> | void;
  close?(): Promise<void> | void;
}

const databaseStopped: TelemetryFault = {
  name: 'PostgreSQL shut down',
  drill: 'database',
  alerts: ['DatabaseDown', 'NodeNotReady', 'MoneyLeaseNotRenewed', 'MoneyLeaseInvalid', 'RequestsFailing'],
  resolvingAlerts: ['DatabaseDown', 'NodeNotReady', 'MoneyLeaseNotRenewed', 'MoneyLeaseInvalid'],
  prepare({ testbed, node }) {
    const load = new Load([node.endpoint(testbed.key)], mixedShot);
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

const redisStopped: TelemetryFault = {
  name: 'Redis silent (SIGSTOP)',
  drill: 'redis',
  alerts: ['RedisDown'],
  resolvingAlerts: ['RedisDown'],
  prepare({ redis, node, testbed }) {
    // Clients and the health check every second detect the failure.
    const load = new Load([node.endpoint(testbed.key)], mixedShot);
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

const supplierDown: TelemetryFault = {
  name: 'A supplier refuses our credential twice, then answers 503',
  drill: 'slow-supplier',
  alerts: ['LaneOpen', 'SupplierFailing', 'CredentialRefused'],
  resolvingAlerts: ['LaneOpen', 'CredentialRefused'],
  prepare({ testbed, node }) {
    // A supplier without earlier calls.
    const match = { model: `sim-${NEIGHBOUR}` };
    const load = new Load([node.endpoint(testbed.key)], (index) => plainShot(NEIGHBOUR, index));
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

const journalFull: TelemetryFault = {
  name: 'Disk of the journal full',
  drill: 'full-disk',
  alerts: ['JournalNotWritable', 'DiskNearlyFull', 'NodeNotReady'],
  resolvingAlerts: ['JournalNotWritable', 'DiskNearlyFull', 'NodeNotReady'],
  async prepare({ testbed }) {
    const folder = join(testbed.postgres.folder, 'full', 'journal');
    mkdirSync(folder, { recursive: true });
    const releaseDisk = mountSmallDisk(folder, DISK_SIZE);
    if (releaseDisk === null) return 'nothing may be mounted';
    const node = await testbed.startNode('full');
    const load = new Load([node.endpoint(testbed.key)], mixedShot);
    return {
      node,
      strike: () => {
        releaseDisk.fill(node);
        load.start(5);
      },
      mend: async () => {
        await load.stop();
        releaseDisk.free(node);
      },
      close: async () => {
        await node.stop();
        releaseDisk.close();
      },
    };
  },
};

const embeddedKilled: TelemetryFault = {
  name: 'The embedded PostgreSQL killed (SIGKILL)',
  drill: 'embedded-database',
  alerts: ['EmbeddedDatabaseEnds'],
  resolvingAlerts: [],
  async prepare({ testbed }) {
    // The server's operating-system user needs access to the folder.
    mkdirSync(join(testbed.postgres.folder, 'embedded'), { mode: 0o711 });
    const node = await testbed.startNode('embedded', { isEmbedded: true });
    const postmaster = join(node.dataFolder, 'postgres', 'cluster', 'postmaster.pid');
    return {
      node,
      strike: () => void process.kill(parseInt(readFileSync(postmaster, 'utf8'), 10), 'SIGKILL'),
      mend: () => undefined,
      close: () => node.stop(),
    };
  },
};

const nodeKilled: TelemetryFault = {
  name: 'A node killed (SIGKILL)',
  drill: 'rolling-restart',
  alerts: ['NodeDown'],
  resolvingAlerts: [],
  async prepare({ testbed }) {
    const node = await testbed.startNode('killed');
    return { node, strike: () => node.program.kill(), mend: () => undefined };
  },
};

const overloaded: TelemetryFault = {
  name: 'More calls than a node may have open',
  drill: 'overload',
  alerts: ['OpenRequestsNearLimit', 'CapacityExceeded'],
  resolvingAlerts: ['OpenRequestsNearLimit'],
  async prepare({ testbed }) {
    const node = await testbed.startNode('overloaded', { environment: { OPEN_REQUESTS_LIMIT: '5' } });
    const endpoint = node.endpoint(testbed.key);
    const load = new Load([endpoint], mixedShot);
    let streams: Promise<unknown>[] = [];
    return {
      node,
      strike: () => {
        streams = Array.from({ length: 5 }, (_, index) => call(endpoint, longStreamShot(index, 12)));
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

const clockSet: TelemetryFault = {
  name: 'The clock of a node an hour back',
  drill: 'clock-jump',
  alerts: ['ClockWrong'],
  resolvingAlerts: ['ClockWrong'],
  async prepare({ testbed }) {
    const file = join(testbed.postgres.folder, 'telemetry-clock');
    writeFileSync(file, '0');
    const node = await testbed.startNode('clock', {
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

/** Failed requests count for five minutes, so the fault whose alert they trigger comes first. */
export const faults: readonly TelemetryFault[] = [
  databaseStopped,
  redisStopped,
  supplierDown,
  journalFull,
  embeddedKilled,
  overloaded,
  clockSet,
  nodeKilled,
];
