import { platformScope } from '#product/kernel';
import { Ledger } from '#product/billing';
import { UserAccount } from '#product/identity';
import { KeysService, type NewKey } from '#product/keys';
import type { TestApp } from './app';

export interface Customer {
  readonly key: string;
  readonly keyId: number;
  readonly userId: number;
}

/** Creates a customer with an API key and this wallet balance. */
export const addCustomer = (
  app: TestApp,
  name: string,
  wallet = 0n,
  limits: Partial<NewKey> = {},
): Promise<Customer> =>
  app.database.transaction(async (tx) => {
    const users = tx.getRepository(UserAccount);
    const user = users.create({ email: `${name}@example.com`, displayName: name, status: 'active' });
    await users.insert(user);
    if (wallet > 0n) {
      await app.application
        .get(Ledger, { strict: false })
        .post(tx, { walletId: user.id, amount: wallet, against: 'promotion', kind: 'welcome', ref: name });
    }
    const owner = { userId: user.id, organisationId: null, departmentId: null, projectId: null };
    const issuedKey = await app.application
      .get(KeysService, { strict: false })
      .issue(platformScope, tx, { ...owner, ...limits, kind: 'client', name, createdBy: 'test' });
    return { key: issuedKey.text, keyId: issuedKey.id, userId: user.id };
  });
