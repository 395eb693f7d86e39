import { randomBytes } from 'node:crypto';
import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp, type TestAppOptions } from '../../support/app';
import { signIn } from '../../support/users';

export interface Person {
  readonly id: number;
  readonly email: string;
  readonly cookie: string;
}

export interface AdminResponse {
  readonly status: number;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

/** The service with two organisations and users of every role. */
export class PortalFixture {
  private constructor(
    readonly app: TestApp,
    readonly ownOrganisation: number,
    readonly otherOrganisation: number,
  ) {}

  static async open(options: TestAppOptions = {}): Promise<PortalFixture> {
    const app = await startTestApp(options);
    const [ownOrganisation, otherOrganisation] = await Promise.all([organisation(app), organisation(app)]);
    return new PortalFixture(app, ownOrganisation, otherOrganisation);
  }

  async person(role: UserRole, account: Partial<UserAccount> = {}): Promise<Person> {
    const name = randomBytes(6).toString('hex');
    const accounts = this.app.database.source.getRepository(UserAccount);
    const row = accounts.create({
      email: `${name}@example.com`,
      displayName: name,
      role,
      status: 'active',
      organisationId: role.startsWith('platform') ? null : this.ownOrganisation,
      ...account,
    });
    await accounts.insert(row);
    return { id: row.id, email: row.email, cookie: await signIn(this.app, row.id) };
  }

  /** Signs a user in again after their sessions have ended. */
  async signInAgain(person: Person): Promise<Person> {
    return { ...person, cookie: await signIn(this.app, person.id) };
  }

  organisation(): Promise<number> {
    return organisation(this.app);
  }

  async get(person: Person | null, path: string): Promise<AdminResponse> {
    return this.send(person, 'GET', path);
  }

  async post(person: Person | null, path: string, json: object = {}): Promise<AdminResponse> {
    return this.send(person, 'POST', path, json);
  }

  /** Submits the form of a page without JavaScript. */
  async submit(
    { cookie }: Person,
    page: string,
    action: string,
    fields: Readonly<Record<string, string>>,
  ): Promise<Pick<AdminResponse, 'status' | 'text'>> {
    const response = await fetch(`${this.app.url}${action}`, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        cookie,
        accept: 'text/html',
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
      },
      body: new URLSearchParams({ _page: page, ...fields }).toString(),
    });
    return { status: response.status, text: await response.text() };
  }

  async send(person: Person | null, method: string, path: string, json?: object): Promise<AdminResponse> {
    const response = await fetch(`${this.app.url}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(person === null ? {} : { cookie: person.cookie }),
        ...(method === 'GET' ? { accept: 'text/html' } : { 'sec-fetch-site': 'same-origin' }),
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    const text = await response.text();
    const isJson = (response.headers.get('content-type') ?? '').includes('json');
    return {
      status: response.status,
      text,
      body: isJson ? (JSON.parse(text) as Record<string, unknown>) : {},
    };
  }

  async row<FixtureRow extends object>(statement: string, values: unknown[] = []): Promise<FixtureRow> {
    const [row] = await this.app.database.query<FixtureRow>(statement, values);
    if (row === undefined) throw new Error(`no row: ${statement}`);
    return row;
  }

  close(): Promise<void> {
    return this.app.close();
  }
}

async function organisation(app: TestApp): Promise<number> {
  const slug = `org-${randomBytes(6).toString('hex')}`;
  const organisations = app.database.source.getRepository(Organisation);
  const row = organisations.create({ name: slug, slug });
  await organisations.insert(row);
  return row.id;
}
