import { Injectable } from '@nestjs/common';
import type { Scope } from '../kernel';
import { Database, type Tx } from '../platform';
import { KeyDirectory } from './key-directory';
import type { NewKeyForm } from './key-form';
import { KeyRegister } from './key-register';
import type { KeyScope } from './key-scope';
import { KeysService } from './keys.service';
import type { IssuedKey, KeyChanges, ManagedKey, RotatedKey } from './managed-key';

/** One change of one key, in a transaction of its own. When it returns, this node already goes by it. */
@Injectable()
export class KeyManagement {
  constructor(
    private readonly database: Database,
    private readonly keys: KeysService,
    private readonly register: KeyRegister,
    private readonly directory: KeyDirectory,
  ) {}

  /** `createdBy` in words that stay true: `root key`, `user 12`. A key of no owner is the operator's. */
  create(scope: Scope, form: NewKeyForm, createdBy: string): Promise<IssuedKey> {
    const { userId, organisationId, departmentId, projectId } = form;
    const hasOwner = [userId, organisationId, departmentId, projectId].some((id) => id !== null);
    return this.database.transaction(async (tx) =>
      this.keys.issue(scope, tx, {
        ...form,
        ...(hasOwner ? {} : await this.keys.usualOwner(tx)),
        kind: 'client',
        createdBy,
      }),
    );
  }

  change(scope: KeyScope, publicId: string, changes: KeyChanges): Promise<ManagedKey> {
    return this.changed(scope, publicId, (tx) => this.keys.change(scope, tx, publicId, changes));
  }

  revoke(scope: KeyScope, publicId: string): Promise<ManagedKey> {
    return this.changed(scope, publicId, (tx) => this.keys.revoke(scope, tx, publicId));
  }

  async rotate(scope: KeyScope, publicId: string, graceSeconds: number): Promise<RotatedKey> {
    const key = await this.database.transaction((tx) => this.keys.rotate(scope, tx, publicId, graceSeconds));
    this.directory.forget({ what: 'key', id: key.id });
    return key;
  }

  private async changed(
    scope: KeyScope,
    publicId: string,
    change: (tx: Tx) => Promise<void>,
  ): Promise<ManagedKey> {
    const key = await this.database.transaction(async (tx) => {
      await change(tx);
      return this.register.get(scope, publicId, tx);
    });
    this.directory.forget({ what: 'key', id: key.id });
    return key;
  }
}
