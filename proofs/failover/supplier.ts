import { Program } from '../support/program';

/** A fault as the simulator's README describes them. */
export type SupplierFault = { readonly kind: string } & Readonly<Record<string, unknown>>;

export interface SeenCall {
  readonly model: string;
  readonly lane: string;
  readonly atMs: number;
  readonly closed: 'finished' | 'client-closed' | 'fault' | null;
  readonly durationMs: number | null;
}

interface Addresses {
  readonly url: string;
  readonly controlUrl: string;
  readonly lanes: readonly { readonly name: string; readonly url: string }[];
}

interface RecordedCall extends Omit<SeenCall, 'atMs'> {
  readonly receivedAt: string;
}

/** The lane of a simulator on which no server listens. */
const GONE = 'gone';

/** A supplier simulator in a process of its own, told what to do over its control port. */
export class Supplier {
  private constructor(
    private readonly program: Program,
    private readonly addresses: Addresses,
  ) {}

  static async start(name: string): Promise<Supplier> {
    const args = ['--name', name, '--region', 'local', '--ring', '20000', '--lane', `${GONE}:local`];
    const program = Program.node('simulator/main.js', args);
    const [line] = await program.find(/^\{.*\}$/m);
    const supplier = new Supplier(program, JSON.parse(line) as Addresses);
    await supplier.control('POST', '/faults', { match: { lane: GONE }, fault: { kind: 'refuse' } });
    return supplier;
  }

  get url(): string {
    return this.addresses.url;
  }

  /** An address that refuses connections. */
  get goneUrl(): string {
    const gone = this.addresses.lanes.find(({ name }) => name === GONE);
    if (gone === undefined) throw new Error('the simulator has no lane that refuses');
    return gone.url;
  }

  /** Applies the fault to the next `times` calls for this model, or to all. Returns the rule's id. */
  async fault(model: string, fault: SupplierFault, times?: number): Promise<number> {
    const rule = { match: { model }, fault, ...(times === undefined ? {} : { times }) };
    return (await this.control<{ id: number }>('POST', '/faults', rule)).id;
  }

  async lift(id: number): Promise<void> {
    await this.control('DELETE', `/faults/${id}`);
  }

  async calls(model: string): Promise<readonly SeenCall[]> {
    const { requests } = await this.control<{ requests: RecordedCall[] }>('GET', '/requests');
    return requests
      .filter((request) => request.model === model)
      .map(({ receivedAt, ...request }) => ({ ...request, atMs: Date.parse(receivedAt) }));
  }

  stop(): Promise<void> {
    return this.program.stop();
  }

  private async control<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(this.addresses.controlUrl + path, {
      method,
      signal: AbortSignal.timeout(30_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer as Answer;
  }
}
