import { randomBytes } from 'node:crypto';
import { SessionsService, UserAccount } from '#product/identity';
import { platformScope, type UserRole } from '#product/kernel';
import { type IssuedKey, type KeyKind, KeysService } from '#product/keys';
import type { TestApp } from './app';

export async function addUser(app: TestApp, role: UserRole = 'user'): Promise<number> {
  const accounts = app.database.source.getRepository(UserAccount);
  const name = randomBytes(6).toString('hex');
  const user = accounts.create({
    email: `${name}@example.com`,
    displayName: name,
    role,
    status: 'active',
    billingExempt: true,
  });
  await accounts.insert(user);
  return user.id;
}

export interface KeyOptions {
  readonly kind?: KeyKind;
  readonly expiresAt?: Date;
}

export function addKey(app: TestApp, userId: number | null, options: KeyOptions = {}): Promise<IssuedKey> {
  return app.database.transaction((tx) =>
    app.application.get(KeysService).issue(platformScope, tx, {
      kind: options.kind ?? 'client',
      name: 'test',
      createdBy: 'test',
      userId,
      organisationId: null,
      departmentId: null,
      projectId: null,
      expiresAt: options.expiresAt ?? null,
    }),
  );
}

/** Returns the session cookie a browser would send. */
export async function signIn(app: TestApp, userId: number): Promise<string> {
  const sessions = app.application.get(SessionsService);
  return `svc_session=${await app.database.transaction((tx) => sessions.open(tx, userId))}`;
}
