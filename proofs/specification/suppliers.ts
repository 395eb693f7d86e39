import { type SimulatorServer, startSimulatorServer } from '../../simulator/server';
import type { ProofNode } from '../../test/system/node';
import { catalogueOf, type SupplierSlot, SUPPLIER_SLOTS } from './catalogue';

/** A fault as described in the simulator's README. */
export type ScriptedFault = { readonly kind: string } & Readonly<Record<string, unknown>>;

/** A request as received by a supplier. */
export interface UpstreamRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed body if it is JSON. */
  readonly body: unknown;
  readonly rawBody: string | null;
  readonly model: string;
  /** Supplier that received the request. */
  readonly at: SupplierSlot;
}

/** Suppliers that respond realistically, unless scripted for a model. */
export class ScriptedSuppliers {
  private constructor(private readonly servers: Readonly<Record<SupplierSlot, SimulatorServer>>) {}

  static async start(node: ProofNode): Promise<ScriptedSuppliers> {
    const started = await Promise.all(
      SUPPLIER_SLOTS.map(
        async (name) => [name, await startSimulatorServer({ name, ringSize: 5_000 })] as const,
      ),
    );
    const servers = Object.fromEntries(started) as Record<SupplierSlot, SimulatorServer>;
    await node.apply(catalogueOf(servers));
    return new ScriptedSuppliers(servers);
  }

  /** Applies the fault to requests for this model, `times` times or permanently. */
  async fault(at: SupplierSlot, model: string, fault: ScriptedFault, times?: number): Promise<void> {
    const rule = { match: { model }, fault, ...(times === undefined ? {} : { times }) };
    await this.control(at, 'POST', '/faults', rule);
  }

  /** Sets the supplier's response for this model. */
  answer(at: SupplierSlot, model: string, body: object): Promise<void> {
    return this.fault(at, model, { kind: 'status', status: 200, body });
  }

  /** The supplier's own response to this body, bypassing the service. */
  async directly(at: SupplierSlot, path: string, body: object): Promise<Buffer> {
    const response = await fetch(this.servers[at].url + path, {
      method: 'POST',
      headers: { authorization: 'Bearer sim-proof', 'content-type': 'application/json' },
      signal: AbortSignal.timeout(30_000),
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return Buffer.from(await response.arrayBuffer());
  }

  /** Requests that contain the text, oldest first per supplier. */
  async requestsWith(text: string): Promise<readonly UpstreamRequest[]> {
    const all = await Promise.all(SUPPLIER_SLOTS.map(async (at) => [at, await this.requestsAt(at)] as const));
    return all.flatMap(([at, requests]) =>
      requests.filter((one) => one.rawBody?.includes(text) ?? false).map((one) => ({ ...one, at })),
    );
  }

  /** Requests to this supplier for this model, oldest first. */
  async requestsFor(at: SupplierSlot, model: string): Promise<readonly UpstreamRequest[]> {
    const requests = await this.requestsAt(at);
    return requests.filter((request) => request.model === model).map((one) => ({ ...one, at }));
  }

  async stop(): Promise<void> {
    await Promise.all(Object.values(this.servers).map((server) => server.stop()));
  }

  private async requestsAt(at: SupplierSlot): Promise<Omit<UpstreamRequest, 'at'>[]> {
    return (await this.control<{ requests: Omit<UpstreamRequest, 'at'>[] }>(at, 'GET', '/requests')).requests;
  }

  private async control<Answer>(
    at: SupplierSlot,
    method: string,
    path: string,
    body?: object,
  ): Promise<Answer> {
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
