import { Injectable } from '@nestjs/common';
import { type Changes, changesOf } from '../../audit';
import { type Tx } from '../../platform';
import { SessionsService } from '../sessions.service';
import { UserAccount } from '../user-account.entity';
import type { ActorContext, EditTarget } from './acting';
import { eraseRowsOf } from './user-erasure.store';
import { refuseLastOwner, refusePayer, UserEditor } from './user-editor.service';

type ErasureStep = (tx: Tx, user: UserAccount) => Promise<void>;

/** Erases a user permanently. Other modules register their own erasure. */
@Injectable()
export class UserErasure {
  private readonly checks: ErasureStep[] = [];
  private readonly steps: ErasureStep[] = [];

  constructor(
    private readonly editor: UserEditor,
    private readonly sessions: SessionsService,
  ) {}

  /** Registers a check that throws if an account cannot be erased yet. */
  addCheck(check: ErasureStep): void {
    this.checks.push(check);
  }

  addStep(step: ErasureStep): void {
    this.steps.push(step);
  }

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
    for (const check of this.checks) await check(tx, user);
    for (const step of this.steps) await step(tx, user);
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
