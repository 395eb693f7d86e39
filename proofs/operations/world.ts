import type { UserRole } from '../../src/kernel';
import { ProcessorSimulator } from '../../simulator/processor/processor-simulator';
import { type ProofGateway, startGateway } from '../../test/system/gateway';
import type { NewUser } from '../../test/system/rows';
import { Client } from './http';
import { type IdentityProvider, startIdentityProvider } from './identity-provider';

/** A further address of the portal, as a reseller has one. */
export const resellerOrigin = 'http://models.reseller.localhost';

export interface Person {
  readonly userId: number;
  readonly email: string;
  readonly client: Client;
  /** The session's cookie. */
  readonly session: string;
}

type Ground = readonly [
  gateway: ProofGateway,
  organisationId: number,
  otherOrganisationId: number,
  provider: IdentityProvider,
  processor: ProcessorSimulator,
];

/** One installation with the sandbox's models, two organisations, and a person of every role. */
export class World {
  private readonly people = new Map<string, Promise<Person>>();

  protected constructor(
    readonly gateway: ProofGateway,
    readonly organisationId: number,
    readonly otherOrganisationId: number,
    readonly provider: IdentityProvider,
    /** People pay here; events are brought when a scenario says so. */
    readonly processor: ProcessorSimulator,
  ) {}

  static async open(environment: Readonly<Record<string, string>> = {}): Promise<World> {
    return new World(...(await World.ground(environment)));
  }

  protected static async ground(environment: Readonly<Record<string, string>>): Promise<Ground> {
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

  /** Callers find the service here. */
  get url(): string {
    return this.gateway.node.url;
  }

  /** A caller without credentials. */
  get anonymous(): Client {
    return new Client(this.url);
  }

  /** The demo key, as both families of clients send one. */
  get key(): Client {
    return this.anonymous.with({ authorization: `Bearer ${this.gateway.node.keys.demo}` });
  }

  get rootKey(): Client {
    return this.anonymous.with({ authorization: `Bearer ${this.gateway.node.keys.root}` });
  }

  /** A person of this role in our organisation, signed in; the same one whenever asked. */
  person(role: UserRole): Promise<Person> {
    return this.remembered(role, () => this.newPerson({ role, organisationId: this.organisationId }));
  }

  /** A person of this role in the other organisation, who has no business with ours. */
  stranger(role: UserRole): Promise<Person> {
    return this.remembered(`stranger ${role}`, () =>
      this.newPerson({ role, organisationId: this.otherOrganisationId }),
    );
  }

  /** A person whom a scenario has to itself. */
  async newPerson(account: NewUser = {}): Promise<Person> {
    return this.signIn(await this.gateway.rows.addUser({ billingExempt: true, ...account }));
  }

  async signIn({ id, email }: { readonly id: number; readonly email: string }): Promise<Person> {
    const session = await this.gateway.rows.openSession(id);
    const client = this.anonymous.with({ cookie: `svc_session=${session}` });
    return { userId: id, email, client, session };
  }

  /** A client key of this person; its row and its text. */
  async newKey(person: Person, name = 'proof'): Promise<{ id: number; publicId: string; client: Client }> {
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

  private remembered(name: string, make: () => Promise<Person>): Promise<Person> {
    const known = this.people.get(name) ?? make();
    this.people.set(name, known);
    return known;
  }
}
