import { randomBytes } from 'node:crypto';
import type { ModelKind } from '../../src/catalogue';
import { Client, expectStatus, eventually } from '../operations/http';
import { World } from '../operations/world';
import { BreakingProxy } from './breaking-proxy';
import { type SupplierSlot, regions } from './catalogue';
import { ScriptedSuppliers } from './suppliers';

export interface SpecificationKey {
  readonly id: string;
  readonly text: string;
  /** Client with the key as bearer token. */
  readonly client: Client;
}

export interface SpecificationLane {
  readonly at: SupplierSlot;
  /** Model name at the supplier; generated if omitted. */
  readonly upstream?: string;
  readonly region?: string;
}

export interface NewSpecificationModel {
  readonly kind?: ModelKind;
  /** The first lane serves unless it fails. */
  readonly lanes?: readonly SpecificationLane[];
  readonly fields?: object;
}

export interface SpecificationModel {
  readonly name: string;
  /** Model names at its suppliers, in lane order. */
  readonly upstream: readonly string[];
}

const priceOf = (kind: ModelKind): object =>
  kind === 'transcription'
    ? { ppm_price: '0.006' }
    : kind === 'rerank'
      ? { per_call_price: '0.002' }
      : { input_price: '1', output_price: '2' };

const settings = {
  /** Low, so that a row can exceed it. */
  AUDIT_EXPORT_MAX_ROWS: '25',
  PROCESSOR_PUBLISHABLE_KEY: 'pk_test_specification',
  /** Models that rows break are not chosen. */
  AUTO_MODEL: 'sim-small',
  /** Rows are repeated until a breakage makes them fail. */
  KEY_FAILURES_PER_MINUTE: '1000000',
};

/**
 * A single installation for all rows, with the sandbox's models, users of every role, and scripted suppliers. Clients
 * reach the service through a breaking proxy; preparation bypasses it.
 */
export class SpecificationWorld extends World {
  private suppliersPromise: Promise<ScriptedSuppliers> | null = null;
  private defaultKey: Promise<SpecificationKey> | null = null;
  private proxy: BreakingProxy | null = null;

  static override async open(): Promise<SpecificationWorld> {
    const world = new SpecificationWorld(...(await World.openResources(settings)));
    world.proxy = await BreakingProxy.start(world.gateway.node.url);
    return world;
  }

  get breakingProxy(): BreakingProxy {
    if (this.proxy === null) throw new Error('nothing stands before the service');
    return this.proxy;
  }

  override get url(): string {
    return this.breakingProxy.url;
  }

  /** The service itself, for preparation that a row does not test. */
  get direct(): Client {
    return new Client(this.gateway.node.url);
  }

  get root(): Client {
    return this.direct.with({ authorization: `Bearer ${this.gateway.node.keys.root}` });
  }

  /** Started when a row first needs them. */
  suppliers(): Promise<ScriptedSuppliers> {
    this.suppliersPromise ??= ScriptedSuppliers.start(this.gateway.node);
    return this.suppliersPromise;
  }

  /** A user with an unlimited key, once a user exists to own it. */
  async caller(): Promise<SpecificationKey> {
    await this.suppliers();
    this.defaultKey ??= this.keyWith({ name: 'caller' });
    return this.defaultKey;
  }

  /** Creates a key with these fields, bypassing the breaking proxy. */
  async keyWith(fields: object = {}): Promise<SpecificationKey> {
    const { publicId, text } = await this.gateway.node.addKey(fields);
    return { id: publicId, text, client: this.as(text) };
  }

  as(text: string): Client {
    return this.anonymous.with({ authorization: `Bearer ${text}` });
  }

  /** Creates a model that no other row uses. */
  async newModel({
    kind = 'chat',
    lanes = [{ at: 'first' }],
    fields = {},
  }: NewSpecificationModel = {}): Promise<SpecificationModel> {
    await this.suppliers();
    const name = `spec-${randomBytes(5).toString('hex')}`;
    const all = lanes.map(({ at, upstream = `sim-${name}-${at}`, region = regions[at] }) => ({
      provider: at,
      upstream_model: upstream,
      region,
    }));
    const { userId } = await this.person('platform_admin');
    const session = await this.gateway.rows.openSession(userId);
    const admin = this.direct.with({ cookie: `svc_session=${session}` });
    const json = { model: name, kind, owned_by: 'first', lanes: all, ...priceOf(kind), ...fields };
    expectStatus(await admin.post('/dashboard/admin/models/create', { json }), 200);
    const demo = this.direct.with({ authorization: `Bearer ${this.gateway.node.keys.demo}` });
    await eventually(
      async () => (await demo.get(`/v1/models/${name}`)).status === 200,
      `${name} did not appear`,
    );
    return { name, upstream: all.map(({ upstream_model }) => upstream_model) };
  }

  override async close(): Promise<void> {
    await this.proxy?.stop();
    await super.close();
    const suppliers = await this.suppliersPromise?.catch(() => null);
    await suppliers?.stop();
  }
}
