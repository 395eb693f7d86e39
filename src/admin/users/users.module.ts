import { Module, type OnModuleInit } from '@nestjs/common';
import { changesOf } from '../../audit';
import { BillingModule, Cards, Invoices, Ledger } from '../../billing';
import { UserEditor, UserErasure } from '../../identity';
import { fault, formatUsd } from '../../kernel';
import { KeyTransfers } from '../../keys';
import { AutoLearner, AutorouterModule } from '../../autorouter';
import { ViewsModule } from '../../views';
import { WebModule } from '../../web';
import { SecondFactorResets } from './second-factor-resets.service';
import { UserActsController } from './user-acts.controller';
import { UserBilling } from './user-billing.service';
import { UserPages } from './user-pages.service';
import { UserSpending } from './user-spending';
import { UsersController } from './users.controller';

@Module({
  imports: [WebModule, ViewsModule, BillingModule, AutorouterModule],
  controllers: [UserActsController, UsersController],
  providers: [SecondFactorResets, UserBilling, UserPages, UserSpending],
})
export class UsersModule implements OnModuleInit {
  constructor(
    private readonly editor: UserEditor,
    private readonly erasure: UserErasure,
    private readonly ledger: Ledger,
    private readonly invoices: Invoices,
    private readonly keys: KeyTransfers,
    private readonly cards: Cards,
    private readonly learner: AutoLearner,
  ) {}

  /**
   * Moving a user revokes keys on projects of the former organisation. An account with money, requests in flight or
   * active keys is not erased.
   */
  onModuleInit(): void {
    this.editor.addLeaveStep(async (tx, id) =>
      changesOf({ keys_revoked: 0 }, { keys_revoked: await this.keys.revokeForeign(tx, id) }),
    );
    this.erasure.addCheck(async (tx, { id }) => {
      const { balance, escrowed } = await this.ledger.wallet(id);
      if (balance !== 0n) {
        throw fault('conflict', {
          message: `This account's wallet holds ${formatUsd(balance)} USD; pay it out or write it off first.`,
          details: { reason: 'balance', balance: formatUsd(balance) },
        });
      }
      const { owed, escrowed: invoiced } = await this.invoices.state(id);
      if (owed !== 0n) {
        throw fault('conflict', {
          message: `This account owes ${formatUsd(owed)} USD by invoice; record the payment first, or change the type of billing.`,
          details: { reason: 'owed', balance: formatUsd(owed) },
        });
      }
      if (escrowed !== 0n || invoiced !== 0n) {
        throw fault('conflict', {
          message: 'Requests of this account are still being settled.',
          details: { reason: 'settling' },
        });
      }
      const keys = await this.keys.countLiveOfUser(tx, id);
      if (keys > 0) {
        throw fault('conflict', {
          message: `This account has ${keys} keys; revoke them first.`,
          details: { reason: 'keys', count: keys },
        });
      }
    });
    this.erasure.addStep((tx, { id }) => this.keys.revokeWebchatKey(tx, id));
    this.erasure.addStep((tx, { id }) => this.cards.forget(tx, id));
    this.erasure.addStep((tx, { id }) => this.learner.forgetUser(tx, id));
  }
}
