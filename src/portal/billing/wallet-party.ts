import { Injectable } from '@nestjs/common';
import { BillingAccounts, type WalletOwner } from '../../billing';
import { PayerService } from '../../identity';
import { atLeast, fault } from '../../kernel';
import { actorOf, type HttpRequest, queryOf } from '../../web';

/** The wallet that pays for the person who is signed in, and whether they may look into it and move its money. */
export interface WalletParty {
  readonly owner: WalletOwner;
  readonly walletId: number;
  readonly isOwn: boolean;
  readonly mayMove: boolean;
  readonly isExempt: boolean;
  /** The reader's own wallet, while another one pays for them. */
  readonly isBeside: boolean;
}

const wantsOwn = (request: HttpRequest): boolean => queryOf(request).get('own') === '1';

/** The change of a wallet leads back here. */
export const overviewOf = (request: HttpRequest): string =>
  wantsOwn(request) ? '/dashboard/billing?own=1' : '/dashboard/billing';

@Injectable()
export class WalletParties {
  constructor(
    private readonly payers: PayerService,
    private readonly accounts: BillingAccounts,
  ) {}

  /** With `own=1` in the address, the reader's own wallet: it may hold money and cards while another one pays. */
  async of(request: HttpRequest): Promise<WalletParty> {
    const { userId, organisationId, departmentId, role } = actorOf(request);
    const standing = await this.payers.standingOf({ userId, organisationId, departmentId, projectId: null });
    const payerId = standing.payerUserId ?? userId;
    const walletId = wantsOwn(request) ? userId : payerId;
    const owner = await this.accounts.owner(walletId);
    const isOwn = walletId === userId;
    const isTheirs = organisationId !== null && owner.organisationId === organisationId;
    return {
      owner,
      walletId,
      isOwn,
      mayMove: isOwn || (isTheirs && atLeast(role, 'org_admin')),
      isExempt: standing.billingExempt,
      isBeside: walletId !== payerId,
    };
  }

  /**
   * The wallet whose documents are requested: the reader's own, or another one for the platform's administrators and
   * the owner of its organisation. Other wallets are not found. A person whose account rests has their own alone.
   */
  async reader(
    request: HttpRequest,
    walletId: number | undefined,
  ): Promise<Pick<WalletParty, 'owner' | 'walletId'>> {
    const { userId, organisationId, role } = actorOf(request);
    if (request.restingAs !== undefined) {
      if (walletId !== undefined && walletId !== userId) throw fault('not_found');
      return { owner: await this.accounts.owner(userId), walletId: userId };
    }
    if (walletId === undefined) return this.mover(request);
    if (walletId === userId || atLeast(role, 'org_owner')) {
      const owner = await this.accounts.owner(walletId);
      const isOfTheirs = organisationId !== null && owner.organisationId === organisationId;
      if (walletId === userId || isOfTheirs || atLeast(role, 'platform_admin')) return { owner, walletId };
    }
    const party = await this.mover(request);
    if (party.walletId !== walletId) throw fault('not_found');
    return party;
  }

  /** It serves everything but the page, which says who pays instead. */
  async mover(request: HttpRequest): Promise<WalletParty> {
    const party = await this.of(request);
    if (!party.mayMove) {
      throw fault('permission_denied', {
        message: `${party.owner.name || party.owner.email} pays for you: only they, and the owners and administrators of your organisation, act on that wallet.`,
      });
    }
    return party;
  }
}

/** Entries of the activity log about a wallet concern these. */
export const concernsOf = ({ walletId, owner }: WalletParty) => ({
  userId: walletId,
  organisationId: owner.organisationId,
});
