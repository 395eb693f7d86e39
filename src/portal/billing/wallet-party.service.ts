import { Injectable } from '@nestjs/common';
import { BillingAccounts, type WalletOwner } from '../../billing';
import { PayerService } from '../../identity';
import { atLeast, fault } from '../../kernel';
import { actorOf, type HttpRequest, queryOf } from '../../web';

/** The wallet charged for the signed-in user, and what the user is allowed to do with it. */
export interface WalletParty {
  readonly owner: WalletOwner;
  readonly walletId: number;
  readonly isOwn: boolean;
  readonly canMoveMoney: boolean;
  readonly isExempt: boolean;
  /** True for the user's own wallet while another payer is charged. */
  readonly isBeside: boolean;
}

const requestsOwnWallet = (request: HttpRequest): boolean => queryOf(request).get('own') === '1';

export const overviewHref = (request: HttpRequest): string =>
  requestsOwnWallet(request) ? '/dashboard/billing?own=1' : '/dashboard/billing';

@Injectable()
export class WalletPartyService {
  constructor(
    private readonly payers: PayerService,
    private readonly accounts: BillingAccounts,
  ) {}

  /**
   * Resolves the wallet of a request. `own=1` selects the user's own wallet, which can hold money and cards while
   * another payer is charged.
   */
  async resolve(request: HttpRequest): Promise<WalletParty> {
    const { userId, organisationId, departmentId, role } = actorOf(request);
    const payerState = await this.payers.standingOf({
      userId,
      organisationId,
      departmentId,
      projectId: null,
    });
    const payerId = payerState.payerUserId ?? userId;
    const walletId = requestsOwnWallet(request) ? userId : payerId;
    const owner = await this.accounts.owner(walletId);
    const isOwn = walletId === userId;
    const isInOrganisation = organisationId !== null && owner.organisationId === organisationId;
    return {
      owner,
      walletId,
      isOwn,
      canMoveMoney: isOwn || (isInOrganisation && atLeast(role, 'org_admin')),
      isExempt: payerState.billingExempt,
      isBeside: walletId !== payerId,
    };
  }

  /**
   * Resolves the wallet whose documents are requested: the user's own, or another one for platform administrators and
   * the owner of its organisation. Users with an archived or suspended account can read their own only; all others are
   * not found.
   */
  async requireReader(
    request: HttpRequest,
    walletId: number | undefined,
  ): Promise<Pick<WalletParty, 'owner' | 'walletId'>> {
    const { userId, organisationId, role } = actorOf(request);
    if (request.restingAs !== undefined) {
      if (walletId !== undefined && walletId !== userId) throw fault('not_found');
      return { owner: await this.accounts.owner(userId), walletId: userId };
    }
    if (walletId === undefined) return this.requireMover(request);
    if (walletId === userId || atLeast(role, 'org_owner')) {
      const owner = await this.accounts.owner(walletId);
      const isInOrganisation = organisationId !== null && owner.organisationId === organisationId;
      if (walletId === userId || isInOrganisation || atLeast(role, 'platform_admin'))
        return { owner, walletId };
    }
    const party = await this.requireMover(request);
    if (party.walletId !== walletId) throw fault('not_found');
    return party;
  }

  /** Requires permission to move money. Only the overview page works without it, and names the payer instead. */
  async requireMover(request: HttpRequest): Promise<WalletParty> {
    const party = await this.resolve(request);
    if (!party.canMoveMoney) {
      throw fault('permission_denied', {
        message: `${party.owner.name || party.owner.email} pays for you: only they, and the owners and administrators of your organisation, act on that wallet.`,
      });
    }
    return party;
  }
}

export const concernsOf = ({ walletId, owner }: WalletParty) => ({
  userId: walletId,
  organisationId: owner.organisationId,
});
