import { Injectable } from '@nestjs/common';
import type { Scope } from '../kernel';
import { Database, type Tx } from '../platform';
import { KeyEntries } from './key-entries';
import { KeyDirectory } from './key-directory';
import type { NewKeyForm } from './key-form';
import type { KeyScope } from './key-scope';
import { KeysService } from './keys.service';
import type { IssuedKey, KeyChanges, ManagedKey, RotatedKey } from './managed-key';

/** Makes one change of one key with its log entry, in one transaction. On return this node already applies it. */
@Injectable()
export class KeyManagement {
  constructor(
    private readonly database: Database,
    private readonly keys: KeysService,
    private readonly directory: KeyDirectory,
    private readonly entries: KeyEntries,
  ) {}

  /** The text `createdBy` stays true: `root key`, `user 12`. A key of no owner is the operator's. */
  create(scope: Scope, form: NewKeyForm, createdBy: string): Promise<IssuedKey> {
    const { userId, organisationId, departmentId, projectId } = form;
    const hasOwner = [userId, organisationId, departmentId, projectId].some((id) => id !== null);
    return this.database.transaction(async (tx) => {
      const issued = await this.keys.issue(scope, tx, {
        ...form,
        ...(hasOwner ? {} : await this.keys.usualOwner(tx)),
        kind: 'client',
        createdBy,
      });
      await this.entries.created(tx, issued);
      return issued;
    });
  }

  change(scope: KeyScope, publicId: string, changes: KeyChanges): Promise<ManagedKey> {
    return this.changed(publicId, (tx) => this.keys.change(scope, tx, publicId, changes));
  }

  revoke(scope: KeyScope, publicId: string): Promise<ManagedKey> {
    return this.changed(publicId, (tx) => this.keys.revoke(scope, tx, publicId));
  }

  async rotate(scope: KeyScope, publicId: string, graceSeconds: number): Promise<RotatedKey> {
    const key = await this.database.transaction(async (tx) => {
      const rotated = await this.keys.rotate(scope, tx, publicId, graceSeconds);
      await this.entries.rotated(tx, rotated);
      return rotated;
    });
    this.directory.forget({ what: 'key', id: key.id });
    return key;
  }

  private async changed(publicId: string, change: (tx: Tx) => Promise<void>): Promise<ManagedKey> {
    const key = await this.database.transaction((tx) =>
      this.entries.changing(tx, publicId, () => change(tx)),
    );
    this.directory.forget({ what: 'key', id: key.id });
    return key;
  }
}
