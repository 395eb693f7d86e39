import { readFileSync } from 'node:fs';
import { Body, Controller, Module, Param, Req } from '@nestjs/common';
import { IsOptional, IsString } from 'class-validator';
import {
  ActivityLog,
  ActivityQuery,
  ActivityRetention,
  actionNames,
  changesOf,
  objectTypes,
  systemActor,
} from '#product/audit';
import { Organisation } from '#product/identity';
import type { Scope } from '../../../src/kernel';
import { Database } from '#product/platform';
import { Access, Action, type HttpRequest, WebModule } from '#product/web';
import { startTestApp, type TestApp } from '../../support/app';
import { sealAll } from '../../support/seal';
import { administer } from '../../support/postgres';
import { addUser, signIn } from '../../support/users';

class NameForm {
  @IsString()
  name: string;

  @IsOptional()
  @IsString()
  reason?: string;
}

/** Handlers that rename an organisation, each with another way of logging. */
@Controller('/trial/organisation')
class RenamingController {
  constructor(
    private readonly database: Database,
    private readonly log: ActivityLog,
  ) {}

  @Action(':id/recorded', Access.session(), { audit: 'organisation.changed' })
  async recorded(
    @Param('id') id: string,
    @Body() form: NameForm,
    @Req() request: HttpRequest,
  ): Promise<object> {
    const changed = await this.database.transaction(async (tx) => {
      const organisation = await tx.getRepository(Organisation).findOneByOrFail({ id: Number(id) });
      const changes = changesOf(organisation, { name: form.name });
      if (Object.keys(changes).length === 0) {
        this.log.reportNoChange();
        return false;
      }
      await tx.getRepository(Organisation).update(organisation.id, { name: form.name });
      await this.log.write(tx, {
        action: 'organisation.changed',
        object: { type: 'organisation', id: organisation.id, label: form.name },
        concerns: { organisationId: organisation.id },
        changes,
        reason: form.reason,
      });
      return true;
    });
    return { changed, requestId: request.requestId };
  }

  @Action(':id/forgotten', Access.session(), { audit: 'organisation.changed' })
  async forgotten(@Param('id') id: string, @Body() form: NameForm): Promise<object> {
    return this.database.transaction(async (tx) => {
      await tx.getRepository(Organisation).update(Number(id), { name: form.name });
      return { changed: true };
    });
  }

  @Action(':id/another', Access.session(), { audit: 'organisation.changed' })
  async another(@Param('id') id: string, @Body() form: NameForm): Promise<object> {
    return this.database.transaction(async (tx) => {
      await tx.getRepository(Organisation).update(Number(id), { name: form.name });
      await this.log.write(tx, { action: 'organisation.merged', object: { type: 'organisation', id } });
      return { changed: true };
    });
  }

  @Action(':id/around', Access.session(), { audit: 'organisation.changed' })
  async around(@Param('id') id: string, @Body() form: NameForm): Promise<object> {
    await this.database.query('UPDATE organisation SET name = $2 WHERE id = $1', [id, form.name]);
    return { changed: true };
  }

  @Action(':id/two-steps', Access.session(), { audit: ['organisation.created', 'organisation.changed'] })
  async twoSteps(@Param('id') id: string, @Body() form: NameForm): Promise<object> {
    await this.database.transaction((tx) => tx.query('SELECT 1'), { withoutActivity: 'counts an attempt' });
    return this.database.transaction(async (tx) => {
      await tx.getRepository(Organisation).update(Number(id), { name: form.name });
      await this.log.write(tx, { action: 'organisation.changed', object: { type: 'organisation', id } });
      return { changed: true };
    });
  }
}

@Module({ imports: [WebModule], controllers: [RenamingController] })
class RenamingModule {}

let app: TestApp;
let cookie: string;
let userId: number;
let log: ActivityLog;
let query: ActivityQuery;
const platform: Scope = { kind: 'platform' };

beforeAll(async () => {
  app = await startTestApp({ modules: [RenamingModule], environment: { ACTIVITY_RETENTION_MONTHS: '2' } });
  userId = await addUser(app);
  cookie = await signIn(app, userId);
  log = app.application.get(ActivityLog, { strict: false });
  query = app.application.get(ActivityQuery, { strict: false });
});
afterAll(() => app.close());

const addOrganisation = async (slug: string): Promise<number> => {
  const organisations = app.database.source.getRepository(Organisation);
  const organisation = organisations.create({ name: 'Before', slug });
  await organisations.insert(organisation);
  return organisation.id;
};
const nameOf = async (id: number) =>
  (await app.database.source.getRepository(Organisation).findOneByOrFail({ id })).name;
const change = async (id: number, way: string, form: object = { name: 'After' }) => {
  const answer = await fetch(`${app.url}/trial/organisation/${id}/${way}`, {
    method: 'POST',
    headers: { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
    body: JSON.stringify(form),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
};
const entriesOf = (organisationId: number) =>
  query.page({ kind: 'organisation', organisationId }, { limit: 10 }).then(({ rows }) => rows);

test('a change is logged with actor, values, reason, address and request id', async () => {
  const id = await addOrganisation('recorded');
  const { status, body } = await change(id, 'recorded', { name: 'After', reason: ' asked by letter ' });
  expect([status, body.changed]).toEqual([200, true]);
  expect(await entriesOf(id)).toEqual([
    {
      id: expect.stringMatching(/^\d+$/),
      occurredAt: expect.any(Date),
      action: 'organisation.changed',
      actor: {
        kind: 'user',
        userId,
        keyId: null,
        role: 'user',
        organisationId: null,
        label: expect.stringMatching(/^\w+ \(\w+@example\.com\)$/),
      },
      userId: null,
      organisationId: id,
      departmentId: null,
      object: { type: 'organisation', id: String(id), label: 'After', keyPublicId: null },
      changes: { name: ['Before', 'After'] },
      reason: 'asked by letter',
      address: '127.0.0.1',
      requestId: body.requestId,
    },
  ]);
});

test.each(['forgotten', 'another'])(
  'a handler that logs nothing or another action is rolled back: %s',
  async (way) => {
    const id = await addOrganisation(way);
    const { status, body } = await change(id, way);
    expect([status, body.code]).toEqual([500, 'internal_error']);
    expect(await nameOf(id)).toBe('Before');
    expect(await entriesOf(id)).toEqual([]);
    expect(app.log.join('')).toContain('must be put on record as organisation.changed');
  },
);

test('a change outside a transaction fails too', async () => {
  const id = await addOrganisation('around');
  expect((await change(id, 'around')).status).toBe(500);
});

test('a transaction can give a reason to skip the entry, and one of several promised entries is enough', async () => {
  const id = await addOrganisation('two-steps');
  expect((await change(id, 'two-steps')).status).toBe(200);
  expect(await nameOf(id)).toBe('After');
});

test('a request that changes nothing writes no entry and succeeds', async () => {
  const id = await addOrganisation('unchanged');
  expect((await change(id, 'recorded', { name: 'Before' })).body.changed).toBe(false);
  expect(await entriesOf(id)).toEqual([]);
});

test('a failed change writes no entry', async () => {
  const entriesBefore = (await query.page(platform, { limit: 100 })).rows.length;
  await expect(
    app.database.transaction(async (tx) => {
      await log.write(tx, {
        action: 'key.created',
        object: { type: 'key', id: 1 },
        actor: systemActor('test'),
      });
      throw new Error('undone');
    }),
  ).rejects.toThrow('undone');
  expect((await query.page(platform, { limit: 100 })).rows).toHaveLength(entriesBefore);
});

test('an entry requires a transaction and an actor', async () => {
  const entry = { action: 'key.created', object: { type: 'key', id: 1 } } as const;
  await expect(
    log.write(app.database.source.manager, { ...entry, actor: systemActor('test') }),
  ).rejects.toThrow('in the transaction of its change');
  await expect(app.database.transaction((tx) => log.write(tx, entry))).rejects.toThrow('has no actor');
});

test('secrets are removed from entries, and long values are truncated', async () => {
  const key = `svc_${'a'.repeat(40)}`;
  await app.database.transaction((tx) =>
    log.write(tx, {
      action: 'credential.changed',
      object: { type: 'credential', id: 'secrets', label: `made with ${key}` },
      actor: systemActor('test'),
      reason: `see https://user:word@example.com and ${key}`,
      changes: changesOf(
        { passwordHash: 'abc', apiKey: 'old', session_token: null, note: null, models: ['a'], maxTokens: 1 },
        {
          passwordHash: 'def',
          apiKey: 'new',
          session_token: 'xyz',
          note: `${key}${'ü'.repeat(9_000)}`,
          models: Array.from({ length: 900 }, (_, index) => `model-${index}`),
          maxTokens: 2n,
        },
      ),
    }),
  );
  const {
    rows: [entry],
  } = await query.page(platform, { object: { type: 'credential', id: 'secrets' }, limit: 1 });
  const text = JSON.stringify(entry);
  expect(text).not.toContain(key);
  expect(text).not.toContain('word@');
  expect(text.length).toBeLessThan(5_000);
  expect(entry?.changes).toMatchObject({
    passwordHash: ['[hidden]', '[hidden]'],
    apiKey: ['[hidden]', '[hidden]'],
    session_token: [null, '[hidden]'],
    maxTokens: [1, '2'],
  });
});

describe('Visible entries per role', () => {
  const scopes: Record<string, Scope> = {};
  const visibleLabels = async (scope: Scope) =>
    (await query.page(scope, { object: { type: 'project' }, limit: 50 })).rows
      .map(({ object }) => object.id)
      .sort();

  beforeAll(async () => {
    const [mine, other] = [await addOrganisation('mine'), await addOrganisation('other')];
    const [boss, member, stranger] = [await addUser(app), await addUser(app), await addUser(app)];
    Object.assign(scopes, {
      organisation: { kind: 'organisation', organisationId: mine },
      foreign: { kind: 'organisation', organisationId: other },
      department: { kind: 'department', organisationId: mine, departmentId: 7, userId: boss },
      user: { kind: 'user', userId: member },
      stranger: { kind: 'user', userId: stranger },
    });
    const bossActor = {
      kind: 'user',
      userId: boss,
      label: 'boss',
      role: 'org_admin',
      organisationId: mine,
      departmentId: null,
    } as const;
    const entries = [
      ['of-organisation', { organisationId: mine }],
      ['of-department', { organisationId: mine, departmentId: 7 }],
      ['of-foreign-department', { organisationId: other, departmentId: 7 }],
      ['of-member', { organisationId: mine, userId: member }],
      ['of-boss', { organisationId: mine, userId: boss }],
      ['of-platform', {}],
    ] as const;
    for (const [id, concerns] of entries) {
      await app.database.transaction((tx) =>
        log.write(tx, {
          action: 'project.changed',
          object: { type: 'project', id },
          concerns,
          actor: id === 'of-member' || id === 'of-boss' ? bossActor : systemActor('test'),
        }),
      );
    }
  });

  test.each([
    ['organisation', ['of-boss', 'of-department', 'of-member', 'of-organisation']],
    ['foreign', ['of-foreign-department']],
    ['department', ['of-boss', 'of-department', 'of-member']],
    ['user', ['of-member']],
    ['stranger', []],
  ])('%s', async (name, ids) => {
    expect(await visibleLabels(scopes[name] as Scope)).toEqual(ids);
  });

  test('the platform sees every entry', async () => {
    expect(await visibleLabels(platform)).toHaveLength(6);
  });
});

test('pages follow each other without gaps, forwards and backwards', async () => {
  const organisationId = await addOrganisation('pages');
  const scope: Scope = { kind: 'organisation', organisationId };
  await app.database.transaction(async (tx) => {
    for (let number = 0; number < 25; number += 1) {
      await log.write(tx, {
        action: number % 2 === 0 ? 'key.created' : 'key.revoked',
        object: { type: 'key', id: number, label: `Key ${number}` },
        concerns: { organisationId },
        actor: systemActor('test'),
      });
    }
  });
  const { rows: all, next, previous } = await query.page(scope, { limit: 100 });
  expect([next, previous]).toEqual([null, null]);
  expect(all.map(({ object }) => Number(object.id))).toEqual(
    Array.from({ length: 25 }, (_, index) => 24 - index),
  );
  const pagedIds = [];
  for await (const entry of query.all(scope, { limit: 100 })) pagedIds.push(entry);
  expect(pagedIds).toEqual(all);
  const first = await query.page(scope, { limit: 10 });
  const second = await query.page(scope, { limit: 10, cursor: first.next });
  expect([...first.rows, ...second.rows]).toEqual(all.slice(0, 20));
  expect((await query.page(scope, { limit: 10, cursor: second.previous })).rows).toEqual(first.rows);
  expect((await query.page(scope, { limit: 100, action: 'key.revoked' })).rows).toHaveLength(12);
  expect((await query.page(scope, { limit: 100, text: 'KEY 2' })).rows).toHaveLength(6);
  expect(await query.days(scope, {}, 'Pacific/Auckland')).toEqual({
    days: [{ day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), count: 25 }],
    countedTo: null,
  });
  await expect(query.page(scope, { limit: 1, cursor: "1_1'; DROP TABLE activity" })).rejects.toThrow(
    'cursor',
  );
});

test('neither the service nor the table owner can change or remove an entry', async () => {
  for (const statement of ["UPDATE activity SET reason = 'x'", 'DELETE FROM activity', 'TRUNCATE activity']) {
    await expect(app.database.query(statement)).rejects.toThrow('permission denied');
    await expect(administer(String(app.environment.MIGRATION_DATABASE_URL), statement)).rejects.toThrow(
      'only grows',
    );
  }
  await expect(app.database.query("SELECT forget_activity_before('2999-01-01')")).rejects.toThrow('is kept');
});

test('retention removes complete months', async () => {
  for (const [id, age] of [
    ['old', '5 months'],
    ['young', '40 days'],
  ]) {
    await app.database.query(
      `INSERT INTO activity (action, actor_kind, actor_label, organisation_id, object_type, object_id, occurred_at)
       VALUES ('key.created', 'system', 'test', 4711, 'key', $1, now() - $2::interval)`,
      [id, age],
    );
    await sealAll(app);
  }
  const removedMonths = await app.application
    .get(ActivityRetention, { strict: false })
    .deleteExpired(new Date());
  expect(removedMonths).toBe(1);
  const { rows: left } = await query.page(platform, { to: new Date(Date.now() - 86_400_000), limit: 10 });
  expect(left.map(({ object }) => object.id)).toEqual(['young']);
});

test('every action and object type has a text', () => {
  const { activity } = JSON.parse(readFileSync('locales/en.json', 'utf8')) as {
    activity: { action: Record<string, Record<string, string>>; object: Record<string, string> };
  };
  const texts = Object.entries(activity.action).flatMap(([object, names]) =>
    Object.keys(names).map((name) => `${object}.${name}`),
  );
  expect(texts.sort()).toEqual([...actionNames].sort());
  expect(Object.keys(activity.object).sort()).toEqual([...objectTypes].sort());
});
