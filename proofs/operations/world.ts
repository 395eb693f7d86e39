import { platformScope } from '../../src/kernel';
import { randomBytes } from 'node:crypto';
import { Organisation, SessionsService, UserAccount } from '../../src/identity';
import type { Role } from '../../src/kernel';
import { KeysService } from '../../src/keys';
import { Database } from '../../src/platform';
import { ProcessorSimulator } from '../../simulator/processor/processor-simulator';
import { type ProofGateway, startGateway } from '../support/gateway';
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

/** One installation with the sandbox's models, two organisations, and a person of every role. */
export class World {
  private readonly people = new Map<string, Promise<Person>>();

  private constructor(
    readonly gateway: ProofGateway,
    readonly organisationId: number,
    readonly otherOrganisationId: number,
    readonly provider: IdentityProvider,
    /** Where people pay; events are brought when a scenario says so. */
    readonly processor: ProcessorSimulator,
  ) {}

  static async open(environment: Readonly<Record<string, string>> = {}): Promise<World> {
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
    const organisations = gateway.service.application.get(Database).source.getRepository(Organisation);
    const [ours, theirs] = ['ours', 'theirs'].map((slug) => organisations.create({ name: slug, slug }));
    if (ours === undefined || theirs === undefined) throw new Error('two organisations are made');
    await organisations.insert([ours, theirs]);
    return new World(gateway, ours.id, theirs.id, provider, processor);
  }

  get url(): string {
    return this.gateway.service.url;
  }

  get database(): Database {
    return this.gateway.service.application.get(Database);
  }

  /** A caller without credentials. */
  get anonymous(): Client {
    return new Client(this.url);
  }

  /** The demo key, as both families of clients send one. */
  get key(): Client {
    return this.anonymous.with({ authorization: `Bearer ${this.gateway.service.firstKeys?.demo ?? ''}` });
  }

  get rootKey(): Client {
    return this.anonymous.with({ authorization: `Bearer ${this.gateway.service.firstKeys?.root ?? ''}` });
  }

  /** A person of this role in our organisation, signed in; the same one whenever asked. */
  person(role: Role): Promise<Person> {
    return this.remembered(role, () => this.newPerson({ role, organisationId: this.organisationId }));
  }

  /** A person of this role in the other organisation, who has no business with ours. */
  stranger(role: Role): Promise<Person> {
    return this.remembered(`stranger ${role}`, () =>
      this.newPerson({ role, organisationId: this.otherOrganisationId }),
    );
  }

  /** A person whom a scenario has to itself. */
  async newPerson(
    account: Partial<
      Pick<
        UserAccount,
        'role' | 'organisationId' | 'departmentId' | 'status' | 'email' | 'displayName' | 'billingExempt'
      >
    > = {},
  ): Promise<Person> {
    const accounts = this.database.source.getRepository(UserAccount);
    const name = randomBytes(6).toString('hex');
    const user = accounts.create({
      email: `${name}@example.com`,
      displayName: name,
      role: 'user',
      status: 'active',
      billingExempt: true,
      ...account,
    });
    await accounts.insert(user);
    return this.signIn(user);
  }

  async signIn({ id, email }: Pick<UserAccount, 'id' | 'email'>): Promise<Person> {
    const sessions = this.gateway.service.application.get(SessionsService, { strict: false });
    const token = await this.database.transaction((tx) => sessions.open(tx, id));
    const client = this.anonymous.with({ cookie: `svc_session=${token}` });
    return { userId: id, email, client, session: token };
  }

  /** A client key of this person; its row and its text. */
  async newKey(person: Person, name = 'proof'): Promise<{ id: number; publicId: string; client: Client }> {
    const keys = this.gateway.service.application.get(KeysService, { strict: false });
    const issued = await this.database.transaction((tx) =>
      keys.issue(platformScope, tx, {
        kind: 'client',
        name,
        createdBy: 'proof',
        userId: person.userId,
        organisationId: null,
        departmentId: null,
        projectId: null,
      }),
    );
    const client = this.anonymous.with({ authorization: `Bearer ${issued.text}` });
    return { id: issued.id, publicId: issued.publicId, client };
  }

  async rows<Row extends object>(statement: string, values: unknown[] = []): Promise<Row[]> {
    return this.database.query<Row>(statement, values);
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
