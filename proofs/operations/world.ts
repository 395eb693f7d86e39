import type { UserRole } from '../../src/kernel';
import { ProcessorSimulator } from '../../simulator/processor/processor-simulator';
import { type ProofGateway, startGateway } from '../../test/system/gateway';
import type { NewUser } from '../../test/system/installation-database';
import { Client } from './http';
import { type TestIdentityProvider, startIdentityProvider } from './identity-provider';

/** Additional portal address of a reseller. */
export const resellerOrigin = 'http://models.reseller.localhost';

export interface PortalUser {
  readonly userId: number;
  readonly email: string;
  readonly client: Client;
  /** Session cookie. */
  readonly session: string;
}

type WorldResources = readonly [
  gateway: ProofGateway,
  organisationId: number,
  otherOrganisationId: number,
  provider: TestIdentityProvider,
  processor: ProcessorSimulator,
];

/** An installation with the sandbox's models, two organisations and a user of every role. */
export class World {
  private readonly people = new Map<string, Promise<PortalUser>>();

  protected constructor(
    readonly gateway: ProofGateway,
    readonly organisationId: number,
    readonly otherOrganisationId: number,
    readonly provider: TestIdentityProvider,
    /** Payment processor; its events are delivered only when a scenario says so. */
    readonly processor: ProcessorSimulator,
  ) {}

  static async open(environment: Readonly<Record<string, string>> = {}): Promise<World> {
    return new World(...(await World.openResources(environment)));
  }

  protected static async openResources(
    environment: Readonly<Record<string, string>>,
  ): Promise<WorldResources> {
    const provider = await startIdentityProvider();
    const processor = await ProcessorSimulator.start();
    const gateway = await startGateway({
      SANDBOX: 'on',
      PUBLIC_REQUESTS_PER_MINUTE: '1000000',
      ACCOUNT_FREE_ATTEMPTS: '1000000',
      ADDRESS_FREE_ATTEMPTS: '1000000',
      PORTAL_ORIGINS: resellerOrigin,
      ...provider.environment,
      ...processor.environment,
      ...environment,
    }).catch(async (error: unknown) => {
      await provider.stop();
      await processor.stop();
      throw error;
    });
    const [ours, theirs] = [
      await gateway.rows.addOrganisation('ours'),
      await gateway.rows.addOrganisation('theirs'),
    ];
    return [gateway, ours, theirs, provider, processor];
  }

  /** Base URL for clients. */
  get url(): string {
    return this.gateway.node.url;
  }

  /** Unauthenticated client. */
  get anonymous(): Client {
    return new Client(this.url);
  }

  /** Client with the demo key, sent in the headers of both API formats. */
  get key(): Client {
    return this.anonymous.with({ authorization: `Bearer ${this.gateway.node.keys.demo}` });
  }

  get rootKey(): Client {
    return this.anonymous.with({ authorization: `Bearer ${this.gateway.node.keys.root}` });
  }

  /** Signed-in user of this role in the own organisation; always the same one. */
  person(role: UserRole): Promise<PortalUser> {
    return this.cachedPerson(role, () => this.newPerson({ role, organisationId: this.organisationId }));
  }

  /** User of this role in the other organisation. */
  stranger(role: UserRole): Promise<PortalUser> {
    return this.cachedPerson(`stranger ${role}`, () =>
      this.newPerson({ role, organisationId: this.otherOrganisationId }),
    );
  }

  /** A new user for one scenario. */
  async newPerson(account: NewUser = {}): Promise<PortalUser> {
    return this.signIn(await this.gateway.rows.addUser({ billingExempt: true, ...account }));
  }

  async signIn({ id, email }: { readonly id: number; readonly email: string }): Promise<PortalUser> {
    const session = await this.gateway.rows.openSession(id);
    const client = this.anonymous.with({ cookie: `svc_session=${session}` });
    return { userId: id, email, client, session };
  }

  /** A client key of this user, with its row id and a client. */
  async newKey(
    person: PortalUser,
    name = 'proof',
  ): Promise<{ id: number; publicId: string; client: Client }> {
    const { node, rows } = this.gateway;
    const { publicId, text } = await node.addKey({ name, user_id: person.userId });
    const [row] = await rows.query<{ id: number }>('SELECT id FROM api_key WHERE public_id = $1', [publicId]);
    return { id: row?.id ?? 0, publicId, client: this.anonymous.with({ authorization: `Bearer ${text}` }) };
  }

  async rows<Row extends object>(statement: string, values: unknown[] = []): Promise<Row[]> {
    return this.gateway.rows.query<Row>(statement, values);
  }

  async close(): Promise<void> {
    await this.gateway.stop();
    await this.provider.stop();
    await this.processor.stop();
  }

  private cachedPerson(name: string, make: () => Promise<PortalUser>): Promise<PortalUser> {
    const existing = this.people.get(name) ?? make();
    this.people.set(name, existing);
    return existing;
  }
}
