import 'reflect-metadata';
import { DataSource } from 'typeorm';
import { entities } from '#inside/boot/app.module';
import { Limits } from '#product/billing';
import type { Ownership } from '../../../src/identity';
import { platformScope, type Scope } from '#product/kernel';
import { KeyRegister, type KeyScope, KeysService } from '#product/keys';
import { Database, type Settings } from '#product/platform';
import { serviceDataSourceOptions } from '#inside/platform/database/data-source';
import { createTestDatabase, type TestDatabase } from '../../support/postgres';

/**
 * Organisation 1 has departments 1 (ann, bob) and 2 (cid); organisation 2 has department 3 (dan). Project 1 of
 * organisation 1 has member ann, project 2 is of organisation 2, and eve has no organisation.
 */
const users = { ann: 1, bob: 2, cid: 3, dan: 4, eve: 5 } as const;
let testDatabase: TestDatabase;
let database: Database;
let keys: KeysService;
let register: KeyRegister;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  const source = new DataSource(serviceDataSourceOptions({ url: testDatabase.url, entities, poolSize: 2 }));
  database = new Database(await source.initialize());
  const limits = new Limits(database);
  keys = new KeysService({ keyPepper: 'pepper' } as Settings, limits);
  register = new KeyRegister(database, limits);
  for (const statement of [
    `INSERT INTO organisation (id, name, slug) VALUES (1, 'One', 'one'), (2, 'Two', 'two')`,
    `INSERT INTO department (id, organisation_id, name) VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 2, 'c')`,
    `INSERT INTO user_account (id, email, display_name, status, organisation_id, department_id) VALUES
      (1, 'ann@x', 'ann', 'active', 1, 1), (2, 'bob@x', 'bob', 'active', 1, 1), (3, 'cid@x', 'cid', 'active', 1, 2),
      (4, 'dan@x', 'dan', 'active', 2, 3), (5, 'eve@x', 'eve', 'active', NULL, NULL)`,
    `INSERT INTO project (id, organisation_id, name, created_by) VALUES (1, 1, 'p', 1), (2, 2, 'q', 4)`,
    `INSERT INTO project_member (project_id, user_id) VALUES (1, 1)`,
  ])
    await database.query(statement);
});
afterAll(async () => {
  await database.source.destroy();
  await testDatabase.drop();
});

const noOwner: Ownership = { userId: null, organisationId: null, departmentId: null, projectId: null };
const createKey = async (name: string, owner: Partial<Ownership>, scope: Scope = platformScope) =>
  (
    await database.transaction((tx) =>
      keys.issue(scope, tx, { ...noOwner, ...owner, kind: 'client', name, createdBy: 'test' }),
    )
  ).publicId;
const listNames = async (scope: KeyScope, filter = {}): Promise<string[]> =>
  (await register.list(scope, { limit: 100, ...filter })).rows.map(({ name }) => name);

const organisation = (organisationId: number): Scope => ({ kind: 'organisation', organisationId });
const department: Scope = { kind: 'department', organisationId: 1, departmentId: 1, userId: users.bob };
const user = (userId: number): Scope => ({ kind: 'user', userId });

const createdIds = new Map<string, string>();
const owners: Readonly<Record<string, Partial<Ownership>>> = {
  ann: { userId: users.ann },
  bob: { userId: users.bob, organisationId: 1 },
  cid: { userId: users.cid },
  dan: { userId: users.dan },
  eve: { userId: users.eve },
  one: { organisationId: 1 },
  a: { departmentId: 1 },
  b: { departmentId: 2 },
  p: { projectId: 1 },
  q: { projectId: 2 },
  // Requests with this key belong to organisation 2, the owner of the project.
  'ann for q': { userId: users.ann, projectId: 2 },
};

test('each scope lists only its own keys and cannot read, change, rotate or revoke others', async () => {
  await database.transaction((tx) => keys.rotateRoot(tx));
  for (const [name, owner] of Object.entries(owners)) createdIds.set(name, await createKey(name, owner));
  const allNames = Object.keys(owners).toReversed();
  const expectedNames: [KeyScope, string[]][] = [
    [platformScope, allNames],
    [organisation(1), ['p', 'b', 'a', 'one', 'cid', 'bob', 'ann']],
    [organisation(2), ['ann for q', 'q', 'dan']],
    [department, ['a', 'bob', 'ann']],
    [user(users.ann), ['ann for q', 'ann']],
    [user(users.eve), ['eve']],
  ];
  for (const [scope, expected] of expectedNames) {
    expect(await listNames(scope)).toEqual(expected);
    for (const name of allNames.filter((one) => !expected.includes(one))) {
      const id = createdIds.get(name)!;
      const notFound = { code: 'not_found' };
      await expect(register.get(scope, id)).rejects.toMatchObject(notFound);
      for (const work of [
        (tx: Parameters<KeysService['revoke']>[1]) => keys.revoke(scope, tx, id),
        (tx: Parameters<KeysService['revoke']>[1]) => keys.change(scope, tx, id, { name: 'taken' }),
        (tx: Parameters<KeysService['revoke']>[1]) => keys.rotate(scope, tx, id),
      ])
        await expect(database.transaction<unknown>(work)).rejects.toMatchObject(notFound);
    }
    expect((await register.get(scope, createdIds.get(expected[0]!)!)).name).toBe(expected[0]);
  }
  const { id } = await register.get(platformScope, createdIds.get('cid')!);
  expect(await listNames({ kind: 'key', keyId: id })).toEqual(['cid']);
  expect(await listNames(platformScope, { projectId: 2 })).toEqual(['ann for q', 'q']);
  expect(await listNames(organisation(1), { projectId: 2 })).toEqual([]);
  expect(await listNames(organisation(1), { userId: users.cid })).toEqual(['cid']);
});

test.each<[string, Scope, Partial<Ownership>, boolean]>([
  ['an organisation for one of its own', organisation(1), { userId: users.cid }, true],
  ['an organisation for a person of another', organisation(1), { userId: users.dan }, false],
  ['an organisation for a person of none', organisation(1), { userId: users.eve }, false],
  ['its project in the name of a stranger', organisation(1), { userId: users.dan, projectId: 1 }, false],
  ['an organisation for another', organisation(1), { organisationId: 2 }, false],
  ['an organisation for itself', organisation(1), { organisationId: 1 }, true],
  ['an organisation for no owner', organisation(1), {}, false],
  ['an owner that is not there', organisation(1), { userId: 99 }, false],
  ['a department for itself', department, { departmentId: 1 }, true],
  ['a department for its member', department, { userId: users.ann }, true],
  ['a department for another', department, { departmentId: 2 }, false],
  ['a department for its organisation', department, { organisationId: 1 }, false],
  ['a department for a person of another', department, { userId: users.cid, departmentId: 1 }, false],
  ['a person for himself', user(users.bob), { userId: users.bob }, true],
  ['a member for her project', user(users.ann), { userId: users.ann, projectId: 1 }, true],
  ['a person for a project of others', user(users.bob), { userId: users.bob, projectId: 1 }, false],
  ['a person for somebody else', user(users.bob), { userId: users.ann }, false],
  ['a person for an organisation', user(users.bob), { userId: users.bob, organisationId: 2 }, false],
])('a key created by %s', async (_what, scope, owner, allowed) => {
  const creation = createKey('made', owner, scope);
  if (allowed) await expect(creation).resolves.toHaveLength(8);
  else await expect(creation).rejects.toMatchObject({ code: 'permission_denied' });
});

test('pages lead forwards and back, and a cursor of another scope reveals nothing of that scope', async () => {
  const allNames = await listNames(platformScope);
  const pages: string[][] = [];
  let page = await register.list(platformScope, { limit: 4 });
  expect(page.previous).toBeNull();
  for (;;) {
    pages.push(page.rows.map(({ name }) => name));
    if (page.next === null) break;
    page = await register.list(platformScope, { limit: 4, cursor: page.next });
  }
  expect(pages.flat()).toEqual(allNames);
  for (const earlierPage of pages.slice(0, -1).toReversed()) {
    page = await register.list(platformScope, { limit: 4, cursor: page.previous });
    expect(page.rows.map(({ name }) => name)).toEqual(earlierPage);
    expect(page.next).not.toBeNull();
  }
  expect(page.previous).toBeNull();
  const secondPage = await register.list(platformScope, { limit: 1 });
  expect(await listNames(user(users.eve), { cursor: secondPage.next })).toEqual(['eve']);
});
