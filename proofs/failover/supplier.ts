import { type FaultRule, type SpawnedSimulator, spawnSimulator } from '../../test/support/simulator';

/** A fault as the simulator's README describes them. */
export type SupplierFault = { readonly kind: string } & Readonly<Record<string, unknown>>;

export interface SeenCall {
  readonly model: string | null;
  readonly lane: string;
  readonly atMs: number;
  readonly closed: 'finished' | 'client-closed' | 'fault' | null;
  readonly durationMs: number | null;
}

/** The lane of a simulator on which no server listens. */
const GONE = 'gone';

/** A supplier simulator in a process of its own, told what to do over its control port. */
export class Supplier {
  private constructor(private readonly simulator: SpawnedSimulator) {}

  static async start(name: string): Promise<Supplier> {
    const words = ['--name', name, '--region', 'local', '--ring', '20000', '--lane', `${GONE}:local`];
    const simulator = await spawnSimulator(words);
    await simulator.addFault({ match: { lane: GONE }, fault: { kind: 'refuse' } });
    return new Supplier(simulator);
  }

  get url(): string {
    return this.simulator.url;
  }

  /** An address that refuses connections. */
  get goneUrl(): string {
    const gone = this.simulator.lanes.find(({ name }) => name === GONE);
    if (gone === undefined) throw new Error('the simulator has no lane that refuses');
    return gone.url;
  }

  /** Applies the fault to the next `times` calls for this model, or to all until the answer is called. */
  fault(model: string, fault: SupplierFault, times?: number): Promise<() => Promise<void>> {
    const rule = { match: { model }, fault: fault as FaultRule['fault'] };
    return this.simulator.fault(times === undefined ? rule : { ...rule, times });
  }

  async calls(model: string): Promise<readonly SeenCall[]> {
    return (await this.simulator.requests())
      .filter((request) => request.model === model)
      .map(({ receivedAt, ...request }) => ({ ...request, atMs: Date.parse(receivedAt) }));
  }

  stop(): Promise<void> {
    return this.simulator.stop();
  }
}
