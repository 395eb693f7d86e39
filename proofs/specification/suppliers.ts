import { type SimulatorServer, startSimulatorServer } from '../../simulator/server';
import type { ProofNode } from '../support/node';

/** One provider each: two of the chat dialect, one of the messages dialect, one that takes native tokens. */
export const places = ['first', 'second', 'messages', 'native'] as const;
export type Place = (typeof places)[number];

/** A fault as the simulator's README describes them. */
export type SupplierFault = { readonly kind: string } & Readonly<Record<string, unknown>>;

/** A request as a supplier received it. */
export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly model: string;
}

/** Suppliers that answer like real ones, and otherwise as they are told for a model. */
export class Suppliers {
  private constructor(private readonly servers: Readonly<Record<Place, SimulatorServer>>) {}

  static async start(node: ProofNode): Promise<Suppliers> {
    const started = await Promise.all(
      places.map(async (name) => [name, await startSimulatorServer({ name, ringSize: 5_000 })] as const),
    );
    const servers = Object.fromEntries(started) as Record<Place, SimulatorServer>;
    await node.apply({
      providers: {
        first: { style: 'openai-style', base_url: servers.first.url, api_key: '${SUPPLIER_KEY}' },
        second: { style: 'openai-style', base_url: servers.second.url, api_key: '${SUPPLIER_KEY}' },
        messages: { style: 'messages-style', base_url: servers.messages.url, api_key: '${SUPPLIER_KEY}' },
        native: {
          style: 'native-oauth',
          base_url: servers.native.url,
          credentials: { one: { kind: 'oauth-pool', access_token: '${SUPPLIER_KEY}' } },
        },
      },
      models: {
        'spec-everyday': {
          lanes: [{ provider: 'first', model: 'sim-everyday', region: 'eu' }],
          price: { input: 1, output: 2 },
        },
      },
    });
    return new Suppliers(servers);
  }

  /** This supplier does so for the model of this name, `times` times or for good. */
  async fault(at: Place, model: string, fault: SupplierFault, times?: number): Promise<void> {
    const rule = { match: { model }, fault, ...(times === undefined ? {} : { times }) };
    await this.control(at, 'POST', '/faults', rule);
  }

  /** This supplier answers the model of this name with this body. */
  answer(at: Place, model: string, body: object): Promise<void> {
    return this.fault(at, model, { kind: 'status', status: 200, body });
  }

  /** What this supplier was asked for the model of this name, the oldest first. */
  async heard(at: Place, model: string): Promise<readonly Heard[]> {
    const { requests } = await this.control<{ requests: Heard[] }>(at, 'GET', '/requests');
    return requests.filter((request) => request.model === model);
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.servers).map((server) => server.stop()));
  }

  private async control<Answer>(at: Place, method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(this.servers[at].controlUrl + path, {
      method,
      signal: AbortSignal.timeout(30_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer as Answer;
  }
}
