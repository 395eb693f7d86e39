import { Injectable } from '@nestjs/common';
import { type Changes, changesOf } from '../../audit';
import { BeforeUserErasure, HooksService, OnUserErasure, type Tx } from '../../platform';
import { hasAddress } from '../account-address';
import { SessionsService } from '../sessions.service';
import { UserAccount } from '../user-account.entity';
import type { ActorContext, EditTarget } from './acting';
import { refuseLastOwner, refusePayer, UserEditor } from './user-editor.service';

/**
 * Data of other modules that is erased with a user. Ledger, request records and activity log stay, without the name.
 */
const erasures = [
  'DELETE FROM account_token WHERE user_id = $1',
  'DELETE FROM project_member WHERE user_id = $1',
  'DELETE FROM linked_identity WHERE user_id = $1',
  'DELETE FROM passkey WHERE user_id = $1',
  'DELETE FROM recovery_code WHERE user_id = $1',
  'DELETE FROM second_factor WHERE user_id = $1',
  'DELETE FROM user_setting WHERE user_id = $1',
  `UPDATE invite i SET email = 'erased-' || u.id || '@erased.invalid' FROM user_account u
    WHERE u.id = $1 AND ${hasAddress('i.email', 'u.email')}`,
];

/** Erases a user permanently. Other modules take part by `@BeforeUserErasure()` and `@OnUserErasure()`. */
@Injectable()
export class UserErasure {
  constructor(
    private readonly editor: UserEditor,
    private readonly sessions: SessionsService,
    private readonly hooks: HooksService,
  ) {}

  erase(acting: ActorContext, target: EditTarget): Promise<Changes> {
    const kind = { act: 'hard-delete', action: 'user.deleted' } as const;
    return this.editor.change(acting, target, kind, (tx, user) => this.remove(tx, user));
  }

  /** Erases the user's own account; the caller has verified the user. */
  eraseOwn(userId: number): Promise<Changes> {
    return this.editor.changeOwn(userId, 'user.deleted', (tx, user) => this.remove(tx, user));
  }

  private async remove(tx: Tx, user: UserAccount): Promise<Changes> {
    await refuseLastOwner(tx, user);
    await refusePayer(tx, user);
    for (const hook of [BeforeUserErasure, OnUserErasure]) {
      for (const handler of this.hooks.handlersOf(hook)) await handler(tx, user.id);
    }
    for (const statement of erasures) await tx.query(statement, [user.id]);
    await this.sessions.endAll(tx, user.id);
    await tx.getRepository(UserAccount).update(user.id, {
      email: `erased-${user.id}@erased.invalid`,
      displayName: '',
      status: 'deleted',
      role: 'user',
      passwordHash: null,
      organisationId: null,
      departmentId: null,
      delegateUserId: null,
      billingType: 'prepaid',
      billingExempt: false,
      lastSeenAt: null,
    });
    return changesOf({ status: user.status }, { status: 'deleted' });
  }
}
