import { type SimulatorServer, startSimulatorServer } from '../../simulator/server';
import type { ProofNode } from '../../test/system/node';
import { catalogueOf, type Place, places } from './catalogue';

/** A fault as the simulator's README describes them. */
export type SupplierFault = { readonly kind: string } & Readonly<Record<string, unknown>>;

/** A request as a supplier received it. */
export interface Heard {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body where it is JSON. */
  readonly body: unknown;
  readonly rawBody: string | null;
  readonly model: string;
  /** This supplier heard it. */
  readonly at: Place;
}

/** Suppliers that answer like real ones, and otherwise as they are told for a model. */
export class Suppliers {
  private constructor(private readonly servers: Readonly<Record<Place, SimulatorServer>>) {}

  static async start(node: ProofNode): Promise<Suppliers> {
    const started = await Promise.all(
      places.map(async (name) => [name, await startSimulatorServer({ name, ringSize: 5_000 })] as const),
    );
    const servers = Object.fromEntries(started) as Record<Place, SimulatorServer>;
    await node.apply(catalogueOf(servers));
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

  /** The supplier's own answer to this body, without the service between. */
  async directly(at: Place, path: string, body: object): Promise<Buffer> {
    const response = await fetch(this.servers[at].url + path, {
      method: 'POST',
      headers: { authorization: 'Bearer sim-proof', 'content-type': 'application/json' },
      signal: AbortSignal.timeout(30_000),
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return Buffer.from(await response.arrayBuffer());
  }

  /** Suppliers were asked these, which hold the text, the oldest first at each. */
  async heardWith(text: string): Promise<readonly Heard[]> {
    const all = await Promise.all(places.map(async (at) => [at, await this.requestsAt(at)] as const));
    return all.flatMap(([at, requests]) =>
      requests.filter((one) => one.rawBody?.includes(text) ?? false).map((one) => ({ ...one, at })),
    );
  }

  /** This supplier was asked these for the model of this name, the oldest first. */
  async heard(at: Place, model: string): Promise<readonly Heard[]> {
    const requests = await this.requestsAt(at);
    return requests.filter((request) => request.model === model).map((one) => ({ ...one, at }));
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.servers).map((server) => server.stop()));
  }

  private async requestsAt(at: Place): Promise<Omit<Heard, 'at'>[]> {
    return (await this.control<{ requests: Omit<Heard, 'at'>[] }>(at, 'GET', '/requests')).requests;
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
