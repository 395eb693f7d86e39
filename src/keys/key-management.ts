import { Injectable } from '@nestjs/common';
import type { Scope } from '../kernel';
import { Database, type Tx } from '../platform';
import { KeyActivity } from './key-activity';
import { KeyDirectory } from './key-directory';
import type { NewKeyForm } from './key-form';
import type { KeyScope } from './key-scope';
import { KeysService } from './keys.service';
import type { IssuedKey, KeyChanges, ManagedKey, RotatedKey } from './managed-key';

/**
 * Makes one change of one key with its audit log entry, in one transaction. When a method returns, this node already
 * applies the change.
 */
@Injectable()
export class KeyManagement {
  constructor(
    private readonly database: Database,
    private readonly keys: KeysService,
    private readonly directory: KeyDirectory,
    private readonly keyActivity: KeyActivity,
  ) {}

  /** `createdBy` is permanent, such as `root key` or `user 12`. A key without an owner belongs to the operator. */
  create(scope: Scope, form: NewKeyForm, createdBy: string): Promise<IssuedKey> {
    const { userId, organisationId, departmentId, projectId } = form;
    const hasOwner = [userId, organisationId, departmentId, projectId].some((id) => id !== null);
    return this.database.transaction(async (tx) => {
      const issued = await this.keys.issue(scope, tx, {
        ...form,
        ...(hasOwner ? {} : await this.keys.defaultOwner(tx)),
        kind: 'client',
        createdBy,
      });
      await this.keyActivity.recordCreated(tx, issued);
      return issued;
    });
  }

  change(scope: KeyScope, publicId: string, changes: KeyChanges): Promise<ManagedKey> {
    return this.applyChange(publicId, (tx) => this.keys.change(scope, tx, publicId, changes));
  }

  revoke(scope: KeyScope, publicId: string): Promise<ManagedKey> {
    return this.applyChange(publicId, (tx) => this.keys.revoke(scope, tx, publicId));
  }

  async rotate(scope: KeyScope, publicId: string, graceSeconds: number): Promise<RotatedKey> {
    const key = await this.database.transaction(async (tx) => {
      const rotated = await this.keys.rotate(scope, tx, publicId, graceSeconds);
      await this.keyActivity.recordRotated(tx, rotated);
      return rotated;
    });
    this.directory.forget({ what: 'key', id: key.id });
    return key;
  }

  private async applyChange(publicId: string, change: (tx: Tx) => Promise<void>): Promise<ManagedKey> {
    const key = await this.database.transaction((tx) =>
      this.keyActivity.recordChange(tx, publicId, () => change(tx)),
    );
    this.directory.forget({ what: 'key', id: key.id });
    return key;
  }
}
