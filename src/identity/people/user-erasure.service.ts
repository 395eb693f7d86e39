import { Injectable } from '@nestjs/common';
import { type Changes, changesOf } from '../../audit';
import { BeforeUserErasure, HooksService, OnUserErasure, type Tx } from '../../platform';
import { SessionsService } from '../sessions.service';
import { UserAccount } from '../user-account.entity';
import type { ActorContext, EditTarget } from './acting';
import { eraseRowsOf } from './user-erasure.store';
import { refuseLastOwner, refusePayer, UserEditor } from './user-editor.service';

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
    await eraseRowsOf(tx, user.id);
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
