import { transformFileSync } from '@swc/core';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { FaultRule } from '../../simulator/faults';
import type { RecordedRequest, WaitKind } from '../../simulator/recorder';
import { startSimulatorServer, type LaneAddress } from '../../simulator/server';
import type { SimulatorOptions } from '../../simulator/settings';
import { makeScratchFolder } from './scratch';

export type { FaultRule, SimulatorOptions };

interface SimulatorStats {
  readonly total: number;
  readonly sinceClear: number;
  readonly inFlight: number;
  readonly byPathAndStatus: Readonly<Record<string, number>>;
  readonly connections: number;
  readonly openConnections: number;
  readonly lanes: readonly { name: string; region: string; connections: number; open: number }[];
}

export interface Simulator {
  readonly url: string;
  readonly controlUrl: string;
  readonly lanes: readonly LaneAddress[];
  /** Returns the rule's id. */
  addFault(rule: FaultRule): Promise<number>;
  clearFaults(): Promise<void>;
  requests(): Promise<readonly RecordedRequest[]>;
  clearRequests(): Promise<void>;
  /** Waits until so many requests came since the last clear; rejects at the deadline. */
  waitForRequests(count: number, deadlineMs?: number): Promise<void>;
  /** The same for closed ones, or only for those the client closed. */
  waitForClosed(count: number, kind?: 'closed' | 'client-closed', deadlineMs?: number): Promise<void>;
  stats(): Promise<SimulatorStats>;
  stop(): Promise<void>;
}

const defaultDeadlineMs = 10_000;

/** A simulator in this process, on real sockets. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const server = await startSimulatorServer(options);
  return clientOf(server, () => server.stop());
}

export interface SpawnedSimulator extends Simulator {
  readonly process: ChildProcess;
}

/** A simulator in a process of its own, compiled from the sources as they are now. */
export async function spawnSimulator(flags: readonly string[] = []): Promise<SpawnedSimulator> {
  const folder = compileSimulator();
  const child = spawn(process.execPath, [join(folder, 'main.js'), ...flags], { stdio: 'pipe' });
  const ended = once(child, 'exit').finally(() => rmSync(folder, { recursive: true, force: true }));
  const complaints: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => complaints.push(chunk));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.done) {
    const [code] = (await ended) as [number | null];
    throw new Error(
      `the simulator ended with ${code} before it listened: ${Buffer.concat(complaints).toString()}`,
    );
  }
  const addresses = JSON.parse(first.value) as Addresses;
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
  };
  return { ...clientOf(addresses, stop), process: child };
}

function compileSimulator(): string {
  const source = join(__dirname, '../../simulator');
  const folder = makeScratchFolder('simulator-');
  for (const file of readdirSync(source, { encoding: 'utf8', recursive: true })) {
    if (!file.endsWith('.ts')) continue;
    const { code } = transformFileSync(join(source, file), { sourceMaps: false });
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file.replace(/\.ts$/, '.js')), code);
  }
  return folder;
}

type Addresses = Pick<Simulator, 'url' | 'controlUrl' | 'lanes'>;

function clientOf({ url, controlUrl, lanes }: Addresses, stop: () => Promise<void>): Simulator {
  const control = async <Answer>(method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${controlUrl}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer as Answer;
  };
  const wait = async (kind: WaitKind, count: number, deadlineMs: number): Promise<void> => {
    await control('GET', `/wait?kind=${kind}&count=${count}&timeout_ms=${deadlineMs}`);
  };
  return {
    url,
    controlUrl,
    lanes,
    stop,
    addFault: async (rule) => (await control<{ id: number }>('POST', '/faults', rule)).id,
    clearFaults: async () => void (await control('DELETE', '/faults')),
    requests: async () => (await control<{ requests: RecordedRequest[] }>('GET', '/requests')).requests,
    clearRequests: async () => void (await control('DELETE', '/requests')),
    waitForRequests: (count, deadlineMs = defaultDeadlineMs) => wait('received', count, deadlineMs),
    waitForClosed: (count, kind = 'closed', deadlineMs = defaultDeadlineMs) => wait(kind, count, deadlineMs),
    stats: () => control<SimulatorStats>('GET', '/stats'),
  };
}
