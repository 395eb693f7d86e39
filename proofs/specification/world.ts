import { randomBytes } from 'node:crypto';
import type { ModelKind } from '../../src/catalogue';
import { Client, expectStatus, soon } from '../operations/http';
import { World } from '../operations/world';
import { Meddler } from './meddler';
import { type Place, regions } from './catalogue';
import { Suppliers } from './suppliers';

export interface SpecifiedKey {
  readonly id: string;
  readonly text: string;
  /** The key as a Bearer token. */
  readonly client: Client;
}

export interface LaneAt {
  readonly at: Place;
  /** As its supplier knows the model; a name of its own where none is given. */
  readonly upstream?: string;
  readonly region?: string;
}

export interface NewModel {
  readonly kind?: ModelKind;
  /** The first one serves unless something is wrong with it. */
  readonly lanes?: readonly LaneAt[];
  readonly fields?: object;
}

export interface SpecifiedModel {
  readonly name: string;
  /** As its suppliers know it, in the order of the lanes. */
  readonly upstream: readonly string[];
}

const priceOf = (kind: ModelKind): object =>
  kind === 'transcription'
    ? { ppm_price: '0.006' }
    : kind === 'rerank'
      ? { per_call_price: '0.002' }
      : { input_price: '1', output_price: '2' };

const settings = {
  /** Few, so that a row can make more. */
  AUDIT_EXPORT_MAX_ROWS: '25',
  PROCESSOR_PUBLISHABLE_KEY: 'pk_test_specification',
  /** The models that rows spoil are not chosen. */
  AUTO_MODEL: 'sim-small',
  /** A row is asked again and again until it is seen red. */
  KEY_FAILURES_PER_MINUTE: '1000000',
};

/**
 * One installation for all rows: the sandbox's models, people of every role, and suppliers that answer as they are
 * told. Callers reach it through a meddler; what a row only needs beforehand goes past that.
 */
export class SpecificationWorld extends World {
  private told: Promise<Suppliers> | null = null;
  private usual: Promise<SpecifiedKey> | null = null;
  private between: Meddler | null = null;

  static override async open(): Promise<SpecificationWorld> {
    const world = new SpecificationWorld(...(await World.ground(settings)));
    world.between = await Meddler.start(world.gateway.node.url);
    return world;
  }

  get meddler(): Meddler {
    if (this.between === null) throw new Error('nothing stands before the service');
    return this.between;
  }

  override get url(): string {
    return this.meddler.url;
  }

  /** The service itself, for what a row only needs beforehand. */
  get direct(): Client {
    return new Client(this.gateway.node.url);
  }

  get root(): Client {
    return this.direct.with({ authorization: `Bearer ${this.gateway.node.keys.root}` });
  }

  /** Started when the first row asks for them. */
  suppliers(): Promise<Suppliers> {
    this.told ??= Suppliers.start(this.gateway.node);
    return this.told;
  }

  /** Somebody with a key without limits, once there is somebody to answer. */
  async caller(): Promise<SpecifiedKey> {
    await this.suppliers();
    this.usual ??= this.keyWith({ name: 'caller' });
    return this.usual;
  }

  /** A key with these fields, made past the meddler. */
  async keyWith(fields: object = {}): Promise<SpecifiedKey> {
    const { publicId, text } = await this.gateway.node.addKey(fields);
    return { id: publicId, text, client: this.as(text) };
  }

  as(text: string): Client {
    return this.anonymous.with({ authorization: `Bearer ${text}` });
  }

  /** A model that no other row asks for. */
  async newModel({
    kind = 'chat',
    lanes = [{ at: 'first' }],
    fields = {},
  }: NewModel = {}): Promise<SpecifiedModel> {
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
    await soon(async () => (await demo.get(`/v1/models/${name}`)).status === 200, `${name} did not appear`);
    return { name, upstream: all.map(({ upstream_model }) => upstream_model) };
  }

  override async close(): Promise<void> {
    await this.between?.stop();
    await super.close();
    const suppliers = await this.told?.catch(() => null);
    await suppliers?.stop();
  }
}
