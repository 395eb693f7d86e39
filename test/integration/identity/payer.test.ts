import { Organisation, PayerService, UserAccount } from '#product/identity';
import { startTestApp, type TestApp } from '../../support/app';

describe('The payer of a request', () => {
  let app: TestApp;
  let payers: PayerService;
  let organisation: number;
  let department: number;
  let project: number;
  const users: Record<string, number> = {};

  const user = async (name: string, fields: Partial<UserAccount> = {}): Promise<number> => {
    const people = app.database.source.getRepository(UserAccount);
    const row = people.create({
      email: `${name}@example.com`,
      displayName: name,
      status: 'active',
      ...fields,
    });
    await people.insert(row);
    return (users[name] = row.id);
  };
  const setColumn = (table: string, id: number, column: string, value: unknown): Promise<unknown[]> =>
    app.database.query(`UPDATE ${table} SET ${column} = $2 WHERE id = $1`, [id, value]);
  const insertRow = async (sql: string, values: unknown[]): Promise<number> =>
    (await app.database.query<{ id: number }>(sql, values))[0]?.id ?? 0;
  const standingOf = (owner: Partial<Parameters<PayerService['standingOf']>[0]>) =>
    payers.standingOf({ userId: null, organisationId: null, departmentId: null, projectId: null, ...owner });

  beforeAll(async () => {
    app = await startTestApp();
    payers = app.application.get(PayerService, { strict: false });
    const organisations = app.database.source.getRepository(Organisation);
    const row = organisations.create({ name: 'Acme', slug: 'acme' });
    await organisations.insert(row);
    organisation = row.id;
    department = await insertRow(
      'INSERT INTO department (organisation_id, name) VALUES ($1, $2) RETURNING id',
      [organisation, 'Research'],
    );
    await user('caller', { organisationId: organisation, departmentId: department });
    for (const name of ['delegate', 'organisation', 'project']) await user(name);
    project = await insertRow(
      'INSERT INTO project (organisation_id, name, created_by) VALUES ($1, $2, $3) RETURNING id',
      [organisation, 'Web', users.caller],
    );
  });
  afterAll(() => app.close());

  test("is the caller, else the delegate, the organisation's billing user or the project's, in rising priority", async () => {
    const payer = async (): Promise<number | null> =>
      (await standingOf({ userId: users.caller ?? null, projectId: project })).payerUserId;
    expect(await payer()).toBe(users.caller);
    await setColumn('user_account', users.caller ?? 0, 'delegate_user_id', users.delegate);
    expect(await payer()).toBe(users.delegate);
    await setColumn('organisation', organisation, 'billing_user_id', users.organisation);
    expect(await payer()).toBe(users.organisation);
    await setColumn('project', project, 'billing_user_id', users.project);
    expect(await payer()).toBe(users.project);
  });

  test("counts against the limits that follow from the key's owner", async () => {
    expect(await standingOf({ userId: users.caller ?? null })).toMatchObject({
      userId: users.caller,
      organisationId: organisation,
      departmentId: department,
      projectId: null,
      userStatus: 'active',
    });
    expect(await standingOf({ projectId: project })).toMatchObject({
      organisationId: organisation,
      userId: null,
    });
    expect(await standingOf({ departmentId: department })).toMatchObject({ organisationId: organisation });
  });

  test('is missing for an organisation without a billing user', async () => {
    await setColumn('organisation', organisation, 'billing_user_id', null);
    expect((await standingOf({ organisationId: organisation })).payerUserId).toBeNull();
  });

  test('is exempt if the payer or the organisation is exempt', async () => {
    const isExempt = async (): Promise<boolean> =>
      (await standingOf({ userId: users.caller ?? null })).billingExempt;
    expect(await isExempt()).toBe(false);
    await setColumn('user_account', users.delegate ?? 0, 'billing_exempt', true);
    expect(await isExempt()).toBe(true);
    await setColumn('user_account', users.delegate ?? 0, 'billing_exempt', false);
    await setColumn('organisation', organisation, 'billing_exempt', true);
    expect(await isExempt()).toBe(true);
  });
});
