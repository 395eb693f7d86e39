import { Organisation, UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { startTestApp, type TestApp, type TestAppOptions } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import { openPage, submitForm } from '../web/page-requests';
import { sendRaw, type RawAnswer } from '../web/raw-exchange';

export type Json = Record<string, unknown>;

export interface AdminJsonResponse {
  readonly status: number;
  readonly json: Json;
}

/** A signed-in user, as API client and as browser. */
export class Visitor {
  constructor(
    readonly url: string,
    readonly cookie: string,
    readonly userId: number,
  ) {}

  get(path: string): Promise<AdminJsonResponse> {
    return this.send('GET', path);
  }

  post(path: string, body: object): Promise<AdminJsonResponse> {
    return this.send('POST', path, JSON.stringify(body));
  }

  delete(path: string): Promise<AdminJsonResponse> {
    return this.send('DELETE', path);
  }

  page(path: string): Promise<RawAnswer> {
    return openPage(this, path);
  }

  /** Submits a form as a browser does from a page of the portal. */
  form(path: string, fields: Readonly<Record<string, string>> | URLSearchParams): Promise<RawAnswer> {
    return submitForm(this, path, fields);
  }

  get headers(): Record<string, string> {
    return { cookie: this.cookie, 'sec-fetch-site': 'same-origin' };
  }

  /** Submits a form with files as a browser does. */
  upload(path: string, form: FormData): Promise<Response> {
    return fetch(this.url + path, {
      method: 'POST',
      redirect: 'manual',
      body: form,
      headers: { ...this.headers, accept: 'text/html' },
    });
  }

  private async send(method: string, path: string, body?: string): Promise<AdminJsonResponse> {
    const answer = await sendRaw(this.url, {
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

/** The service with a platform administrator. */
export class AdminHouse {
  private constructor(
    readonly app: TestApp,
    readonly admin: Visitor,
  ) {}

  static async open(options: TestAppOptions = {}): Promise<AdminHouse> {
    const app = await startTestApp(options);
    return new AdminHouse(app, await visitor(app, 'platform_admin'));
  }

  /** Creates a signed-in user with the role, optionally in an organisation. */
  async visitor(role: UserRole, organisationId: number | null = null): Promise<Visitor> {
    return visitor(this.app, role, organisationId);
  }

  async organisation(slug: string): Promise<number> {
    const organisations = this.app.database.source.getRepository(Organisation);
    const record = organisations.create({ name: slug, slug });
    await organisations.insert(record);
    return record.id;
  }

  /** Returns the latest audit log entries with the actions. */
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

/** A chat completion that a scripted supplier returns. */
export const chatAnswer = {
  id: 'x',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'pong' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
};
