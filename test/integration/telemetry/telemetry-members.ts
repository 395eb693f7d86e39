import { UserAccount } from '#product/identity';
import type { UserRole } from '../../../src/kernel';
import { addKey, addUser, signIn } from '../../support/users';
import { Visitor } from '../admin/admin-fixture';
import type { TelemetryFixture } from './telemetry-fixture';

export const SWITCH = '/dashboard/settings/telemetry';

export interface TelemetryMember {
  readonly browser: Visitor;
  readonly headers: { readonly authorization: string };
}

let organisationCount = 0;

export const createOrganisation = async ({ app }: TelemetryFixture): Promise<number> => {
  organisationCount += 1;
  const [row] = await app.database.query<{ id: number }>(
    'INSERT INTO organisation (name, slug) VALUES ($1, $1) RETURNING id',
    [`house-${organisationCount}`],
  );
  return row!.id;
};

export const createMember = async (
  { app }: TelemetryFixture,
  organisationId: number | null,
  role: UserRole = 'org_owner',
): Promise<TelemetryMember> => {
  const id = await addUser(app, role);
  await app.database.source.getRepository(UserAccount).update(id, { organisationId });
  const { text } = await addKey(app, id);
  return {
    browser: new Visitor(app.url, await signIn(app, id), id),
    headers: { authorization: `Bearer ${text}` },
  };
};

export const setContentSwitch = async (
  { browser }: TelemetryMember,
  enabled: boolean,
  path = `${SWITCH}/organisation`,
) => {
  const { status, json } = await browser.post(path, { enabled });
  return [status, json['code'] ?? json['enabled']];
};
