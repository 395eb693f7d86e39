import { type FaultRule, type SpawnedSimulator, spawnSimulator } from '../../test/support/simulator';

/** A fault as documented in the simulator's README. */
export type SupplierFault = { readonly kind: string } & Readonly<Record<string, unknown>>;

export interface RecordedCall {
  readonly model: string | null;
  readonly lane: string;
  readonly atMs: number;
  readonly closed: 'finished' | 'client-closed' | 'fault' | null;
  readonly durationMs: number | null;
}

/** Name of a simulator lane without a listening server. */
const GONE_LANE = 'gone';

/** A supplier simulator in its own process, controlled over its control port. */
export class Supplier {
  private constructor(private readonly simulator: SpawnedSimulator) {}

  static async start(name: string): Promise<Supplier> {
    const args = ['--name', name, '--region', 'local', '--ring', '20000', '--lane', `${GONE_LANE}:local`];
    const simulator = await spawnSimulator(args);
    await simulator.addFault({ match: { lane: GONE_LANE }, fault: { kind: 'refuse' } });
    return new Supplier(simulator);
  }

  get url(): string {
    return this.simulator.url;
  }

  /** An address that refuses connections. */
  get goneUrl(): string {
    const goneLane = this.simulator.lanes.find(({ name }) => name === GONE_LANE);
    if (goneLane === undefined) throw new Error('the simulator has no lane that refuses');
    return goneLane.url;
  }

  /**
   * Injects the fault into the next `times` calls for this model, or into all until the returned function is called.
   */
  fault(model: string, fault: SupplierFault, times?: number): Promise<() => Promise<void>> {
    const rule = { match: { model }, fault: fault as FaultRule['fault'] };
    return this.simulator.fault(times === undefined ? rule : { ...rule, times });
  }

  async calls(model: string): Promise<readonly RecordedCall[]> {
    return (await this.simulator.requests())
      .filter((request) => request.model === model)
      .map(({ receivedAt, ...request }) => ({ ...request, atMs: Date.parse(receivedAt) }));
  }

  stop(): Promise<void> {
    return this.simulator.stop();
  }
}
