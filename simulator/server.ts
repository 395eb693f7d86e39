import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createControlServer } from './control';
import type { SharedState } from './exchange';
import { FaultRules } from './faults';
import { Lane, listenOn } from './lane';
import { Recorder } from './recorder';
import { ReplyCache } from './reply-cache';
import { SimulatedResponseStore } from './dialects/response-store';
import { settingsOf, type SimulatorOptions } from './settings';

export interface LaneAddress {
  readonly name: string;
  readonly region: string;
  readonly url: string;
}

export interface SimulatorServer {
  readonly url: string;
  readonly controlUrl: string;
  readonly lanes: readonly LaneAddress[];
  /** Stops listening, lets running responses finish within the grace period, then closes connections. */
  stop(graceMs?: number): Promise<void>;
}

/** Starts a complete simulator in this process, on real sockets. */
export async function startSimulatorServer(options: SimulatorOptions = {}): Promise<SimulatorServer> {
  const { name = 'simulator', region = 'local', host = '127.0.0.1' } = options;
  const shared: SharedState = {
    settings: settingsOf(options),
    faults: new FaultRules(options.seed ?? 1),
    recorder: new Recorder(options.ringSize ?? 1000),
    cache: new ReplyCache(),
    shelf: new SimulatedResponseStore(),
    vendors: { rules: options.vendors ?? 'strict' },
  };
  const lanes = [{ name, region, port: options.port ?? 0 }, ...(options.lanes ?? [])].map(
    (lane) => new Lane({ name: lane.name, region: lane.region }, host, lane.port ?? 0, shared),
  );
  const applyRefusals = async (): Promise<void> => {
    await Promise.all(
      lanes.map((lane) => (shared.faults.refuses(lane.name.name) ? lane.refuse() : lane.listen())),
    );
  };
  await applyRefusals();
  const control = createControlServer({ ...shared, lanes, applyRefusals });
  await listenOn(control, options.controlPort ?? 0, host);
  const addresses = lanes.map((lane) => ({ ...lane.name, url: lane.url }));
  return {
    url: addresses[0]?.url ?? '',
    controlUrl: `http://${host}:${(control.address() as AddressInfo).port}`,
    lanes: addresses,
    async stop(graceMs = 0) {
      await Promise.all(lanes.map((lane) => lane.close(graceMs)));
      await closeControl(control);
    },
  };
}

function closeControl(control: Server): Promise<void> {
  return new Promise((resolve) => {
    control.close(() => resolve());
    control.closeAllConnections();
  });
}
