import { QualityPolicies } from '#inside/quality/settings/quality-policies';
import { Organisation, UserAccount } from '#product/identity';
import { platformScope, type UserRole } from '#product/kernel';
import { KeysService, type NewKey } from '#product/keys';
import type { QualitySettings } from '../../../src/quality';
import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/users';
import { until } from '../../support/until';

export interface QualityFixture {
  readonly organisationId: number;
  readonly userId: number;
  readonly key: string;
  readonly keyId: number;
}

/** Adds an organisation with one member and a key, whose requests are free. */
export async function addQualityFixture(
  app: TestApp,
  slug: string,
  limits: Partial<NewKey> = {},
): Promise<QualityFixture> {
  const organisations = app.database.source.getRepository(Organisation);
  const organisation = organisations.create({ name: slug, slug, billingExempt: true });
  await organisations.insert(organisation);
  const userId = await addMember(app, organisation.id);
  const issuedKey = await app.database.transaction((tx) =>
    app.application.get(KeysService, { strict: false }).issue(platformScope, tx, {
      ...limits,
      kind: 'client',
      name: slug,
      createdBy: 'test',
      userId,
      organisationId: organisation.id,
      departmentId: null,
      projectId: null,
    }),
  );
  return { organisationId: organisation.id, userId, key: issuedKey.text, keyId: issuedKey.id };
}

export async function addMember(
  app: TestApp,
  organisationId: number,
  role: UserRole = 'user',
): Promise<number> {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return userId;
}

export const signInMember = async (app: TestApp, organisationId: number, role: UserRole): Promise<string> =>
  signIn(app, await addMember(app, organisationId, role));

/** Changes settings like an administrator and reloads them on the node before returning. */
export async function setQuality(
  app: TestApp,
  organisationId: number,
  settings: Partial<QualitySettings>,
): Promise<void> {
  await app.database.query(
    `INSERT INTO engine_setting (engine, organisation_id, settings) VALUES ('qualitative', $1, $2::jsonb)
     ON CONFLICT ON CONSTRAINT engine_setting_once DO UPDATE SET settings = engine_setting.settings || $2::jsonb`,
    [organisationId, JSON.stringify(settings)],
  );
  // Reloaded directly, because the announcement could arrive after the next request.
  await app.application.get(QualityPolicies, { strict: false }).reload();
}

export const askModel = (app: TestApp, key: string, body: object, path = '/v1/chat/completions') =>
  fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ max_tokens: 60, ...body }),
  });

export interface StoredSample {
  readonly request_id: string;
  readonly state: string;
  readonly closed_by: string | null;
  readonly redactions: Record<string, number>;
  readonly content: Buffer | null;
  readonly inclusion_prob: number;
  readonly sampled_by: string;
  readonly bucket: string;
}

export async function sampleOf(app: TestApp, requestId: string | null): Promise<StoredSample | undefined> {
  const [row] = await app.database.query<StoredSample>('SELECT * FROM quality_sample WHERE request_id = $1', [
    requestId,
  ]);
  return row;
}

/** Waits until evaluation of a request is complete; failed steps are retried after five and ten seconds. */
export async function waitForEvaluation(app: TestApp, requestId: string | null): Promise<StoredSample> {
  let sample: StoredSample | undefined;
  await until(async () => {
    sample = await sampleOf(app, requestId);
    return sample?.state === 'learned' || sample?.state === 'closed';
  }, 25_000);
  if (sample === undefined) throw new Error('there is no such sample');
  return sample;
}
