import { QualityPolicies } from '#inside/quality/settings/quality-policies';
import { Organisation, UserAccount } from '#product/identity';
import { platformScope, type UserRole } from '#product/kernel';
import { KeysService, type NewKey } from '#product/keys';
import type { QualitySettings } from '../../../src/quality';
import type { TestApp } from '../../support/app';
import { addUser, signIn } from '../../support/people';
import { until } from '../../support/until';

export interface House {
  readonly organisationId: number;
  readonly userId: number;
  readonly key: string;
  readonly keyId: number;
}

/** An organisation with somebody in it and a key; nobody pays. */
export async function addHouse(app: TestApp, slug: string, limits: Partial<NewKey> = {}): Promise<House> {
  const organisations = app.database.source.getRepository(Organisation);
  const organisation = organisations.create({ name: slug, slug, billingExempt: true });
  await organisations.insert(organisation);
  const userId = await addMember(app, organisation.id);
  const issued = await app.database.transaction((tx) =>
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
  return { organisationId: organisation.id, userId, key: issued.text, keyId: issued.id };
}

export async function addMember(app: TestApp, organisationId: number, role: UserRole = 'user'): Promise<number> {
  const userId = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(userId, { organisationId });
  return userId;
}

export const signedIn = async (app: TestApp, organisationId: number, role: UserRole): Promise<string> =>
  signIn(app, await addMember(app, organisationId, role));

/** As an administrator would, and known to the node when it returns. */
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
  // The node's copy is announced to; the request that follows at once would come before it.
  await app.application.get(QualityPolicies, { strict: false }).reload();
}

export const askModel = (app: TestApp, key: string, body: object, path = '/v1/chat/completions') =>
  fetch(`${app.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ max_tokens: 60, ...body }),
  });

export interface SampleSeen {
  readonly request_id: string;
  readonly state: string;
  readonly closed_by: string | null;
  readonly redactions: Record<string, number>;
  readonly content: Buffer | null;
  readonly inclusion_prob: number;
  readonly sampled_by: string;
  readonly bucket: string;
}

export async function sampleOf(app: TestApp, requestId: string | null): Promise<SampleSeen | undefined> {
  const [row] = await app.database.query<SampleSeen>('SELECT * FROM quality_sample WHERE request_id = $1', [
    requestId,
  ]);
  return row;
}

/** Waits until evaluation is done with a request. A step that fails is tried again after five seconds, and then ten. */
export async function evaluated(app: TestApp, requestId: string | null): Promise<SampleSeen> {
  let sample: SampleSeen | undefined;
  await until(async () => {
    sample = await sampleOf(app, requestId);
    return sample?.state === 'learned' || sample?.state === 'closed';
  }, 25_000);
  if (sample === undefined) throw new Error('there is no such sample');
  return sample;
}
