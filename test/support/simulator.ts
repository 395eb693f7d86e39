import type { FaultRule } from '../../simulator/faults';
import type { RecordedRequest, WaitKind } from '../../simulator/recorder';
import { startSimulatorServer, type LaneAddress } from '../../simulator/server';
import type { SimulatorOptions } from '../../simulator/settings';
import { type ProgramOptions, Program } from '../system/program';

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
  /** Adds a rule and returns its id. */
  addFault(rule: FaultRule): Promise<number>;
  /** Adds a rule that is in effect until the returned function is called. */
  fault(rule: FaultRule): Promise<() => Promise<void>>;
  clearFaults(): Promise<void>;
  /** Recorded requests, or only those after a given id. */
  requests(after?: number): Promise<readonly RecordedRequest[]>;
  clearRequests(): Promise<void>;
  /** Waits until this many requests arrived since the last clear; rejects at the deadline. */
  waitForRequests(count: number, deadlineMs?: number): Promise<void>;
  /** Waits until this many requests were closed, or closed by the client; rejects at the deadline. */
  waitForClosed(count: number, kind?: 'closed' | 'client-closed', deadlineMs?: number): Promise<void>;
  stats(): Promise<SimulatorStats>;
  stop(): Promise<void>;
}

const DEFAULT_DEADLINE_MS = 10_000;
const CONTROL_DEADLINE_MS = 60_000;

/** Starts a simulator in this process, on real sockets. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const server = await startSimulatorServer(options);
  return clientOf(server, () => server.stop());
}

export interface SpawnedSimulator extends Simulator {
  readonly program: Program;
}

/** Starts a simulator in its own process, on free ports unless flags set them. */
export async function spawnSimulator(
  flags: readonly string[] = [],
  circumstances: ProgramOptions = {},
): Promise<SpawnedSimulator> {
  const program = Program.node('simulator/main.js', flags, {}, circumstances);
  const [line] = await program.find(/^\{.*\}$/m);
  return { ...clientOf(JSON.parse(line) as SimulatorAddresses, () => program.stop()), program };
}

type SimulatorAddresses = Pick<Simulator, 'url' | 'controlUrl' | 'lanes'>;

function clientOf({ url, controlUrl, lanes }: SimulatorAddresses, stop: () => Promise<void>): Simulator {
  const control = async <Answer>(method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${controlUrl}${path}`, {
      method,
      signal: AbortSignal.timeout(CONTROL_DEADLINE_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer as Answer;
  };
  const wait = async (kind: WaitKind, count: number, deadlineMs: number): Promise<void> => {
    await control('GET', `/wait?kind=${kind}&count=${count}&timeout_ms=${deadlineMs}`);
  };
  const addFault = async (rule: FaultRule): Promise<number> =>
    (await control<{ id: number }>('POST', '/faults', rule)).id;
  return {
    url,
    controlUrl,
    lanes,
    stop,
    addFault,
    fault: async (rule) => {
      const id = await addFault(rule);
      return async () => void (await control('DELETE', `/faults/${id}`));
    },
    clearFaults: async () => void (await control('DELETE', '/faults')),
    requests: async (after) => {
      const path = after === undefined ? '/requests' : `/requests?after=${after}`;
      return (await control<{ requests: RecordedRequest[] }>('GET', path)).requests;
    },
    clearRequests: async () => void (await control('DELETE', '/requests')),
    waitForRequests: (count, deadlineMs = DEFAULT_DEADLINE_MS) => wait('received', count, deadlineMs),
    waitForClosed: (count, kind = 'closed', deadlineMs = DEFAULT_DEADLINE_MS) =>
      wait(kind, count, deadlineMs),
    stats: () => control<SimulatorStats>('GET', '/stats'),
  };
}
