import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp, type TestAppOptions } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import { openPage, submitForm } from '../web/from-page';
import { ask, type RawAnswer } from '../web/raw-exchange';

export type Json = Record<string, unknown>;

export interface JsonAnswer {
  readonly status: number;
  readonly json: Json;
}

/** Somebody who is signed in, as a program and as a browser. */
export class Visitor {
  constructor(
    readonly url: string,
    readonly cookie: string,
    readonly userId: number,
  ) {}

  get(path: string): Promise<JsonAnswer> {
    return this.send('GET', path);
  }

  post(path: string, body: object): Promise<JsonAnswer> {
    return this.send('POST', path, JSON.stringify(body));
  }

  delete(path: string): Promise<JsonAnswer> {
    return this.send('DELETE', path);
  }

  page(path: string): Promise<RawAnswer> {
    return openPage(this, path);
  }

  /** As a browser sends a form, from a page of ours. */
  form(path: string, fields: Readonly<Record<string, string>> | URLSearchParams): Promise<RawAnswer> {
    return submitForm(this, path, fields);
  }

  get headers(): Record<string, string> {
    return { cookie: this.cookie, 'sec-fetch-site': 'same-origin' };
  }

  /** As a browser sends a form with files. */
  upload(path: string, form: FormData): Promise<Response> {
    return fetch(this.url + path, {
      method: 'POST',
      redirect: 'manual',
      body: form,
      headers: { ...this.headers, accept: 'text/html' },
    });
  }

  private async send(method: string, path: string, body?: string): Promise<JsonAnswer> {
    const answer = await ask(this.url, {
      method,
      path,
      headers: {
        cookie: this.cookie,
        'sec-fetch-site': 'same-origin',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    });
    return { status: answer.status, json: JSON.parse(answer.body) as Json };
  }
}

/** The service with an administrator of the platform. */
export class AdminHouse {
  private constructor(
    readonly app: TestApp,
    readonly admin: Visitor,
  ) {}

  static async open(options: TestAppOptions = {}): Promise<AdminHouse> {
    const app = await startTestApp(options);
    return new AdminHouse(app, await visitor(app, 'platform_admin'));
  }

  /** Somebody of a role, in an organisation or in none. */
  async visitor(role: UserRole, organisationId: number | null = null): Promise<Visitor> {
    return visitor(this.app, role, organisationId);
  }

  async organisation(slug: string): Promise<number> {
    const organisations = this.app.database.source.getRepository(Organisation);
    const made = organisations.create({ name: slug, slug });
    await organisations.insert(made);
    return made.id;
  }

  /** The newest entries of the activity log of these actions. */
  entries(
    ...actions: string[]
  ): Promise<{ action: string; object_label: string; changes: Json | null; reason: string }[]> {
    return this.app.database.query(
      'SELECT action, object_label, changes, reason FROM activity WHERE action = ANY ($1) ORDER BY id DESC',
      [actions],
    );
  }

  close(): Promise<void> {
    return this.app.close();
  }
}

async function visitor(app: TestApp, role: UserRole, organisationId: number | null = null): Promise<Visitor> {
  const userId = await addUser(app, role);
  await app.database.source.manager.update(UserAccount, { id: userId }, { organisationId });
  return new Visitor(app.url, await signIn(app, userId), userId);
}
