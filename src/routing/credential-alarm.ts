import { Injectable } from '@nestjs/common';
import { CredentialStore, type LaneView } from '../catalogue';
import { type Fault, MINUTE_MS, monotonicMs, underlyingCause } from '../kernel';
import { Logger } from '../platform';
import { isAccountSpent } from '../protocol';

const QUIET_MS = MINUTE_MS;

const SPENT = 'alert: our account at the supplier is spent or closed';

/**
 * Tells operators that a supplier refuses a credential: a line a minute and lane at most, and a mark that `doctor`
 * finds. A credential that other models of the provider are served with is not refused: that one model is, until it is
 * served again.
 */
@Injectable()
export class CredentialAlarm {
  /** It holds refused lanes by provider. */
  private readonly told = new Map<number, Map<string, ToldLane>>();
  /** Providers whose credential was ever refused to this node, by id. */
  private readonly names = new Map<number, string>();
  private readonly acceptedAt = new Map<number, number>();
  private readonly marked = new Set<number>();
  /** When each provider's mark was last looked for: another node, or this one before its start, may have made it. */
  private readonly clearedAt = new Map<number, number>();

  constructor(
    private readonly credentials: CredentialStore,
    private readonly logger: Logger,
  ) {}

  refused(lane: LaneView, status: number | null, problem: Fault): void {
    const { provider, upstreamModel: model, region } = lane;
    const now = monotonicMs();
    const told = this.told.get(provider.id) ?? new Map<string, ToldLane>();
    const before = told.get(nameOf(lane));
    if (now - (before?.at ?? -Infinity) < QUIET_MS) return;
    // A spent account is one for all its models.
    const isSpent = isAccountSpent(problem);
    const isLatelyUsed = now - (this.acceptedAt.get(provider.id) ?? -Infinity) < QUIET_MS;
    const isUsed = !isSpent && (isLatelyUsed || before?.isAlone === true);
    this.names.set(provider.id, provider.name);
    this.told.set(provider.id, told.set(nameOf(lane), { at: now, isAlone: isUsed }));
    const what = isUsed ? 'our credential for this model' : 'our credential';
    this.logger.error(isSpent ? SPENT : `alert: the supplier refuses ${what}`, {
      provider: provider.name,
      model,
      region,
      status,
      code: problem.code,
      cause: underlyingCause(problem),
    });
    if (isUsed || this.marked.has(provider.id)) return;
    this.marked.add(provider.id);
    this.note(provider.id, (id) => this.credentials.noteHealth(id, 'rejected'));
  }

  /** How many lanes of these providers are refused at present. */
  states(): { readonly provider: string; readonly refused: number }[] {
    return [...this.names].map(([id, provider]) => ({ provider, refused: this.told.get(id)?.size ?? 0 }));
  }

  accepted(lane: LaneView): void {
    const { provider, upstreamModel: model } = lane;
    const now = monotonicMs();
    this.acceptedAt.set(provider.id, now);
    this.clear(provider.id, now);
    const told = this.told.get(provider.id);
    if (told === undefined) return;
    const isBack = told.delete(nameOf(lane));
    if (told.size === 0) this.told.delete(provider.id);
    for (const other of told.values()) other.isAlone = true;
    const wasMarked = this.marked.delete(provider.id);
    if (isBack || wasMarked)
      this.logger.info('the supplier accepts our credential again', { provider: provider.name, model });
  }

  /** It clears at once where this node made the mark, otherwise once a minute. */
  private clear(providerId: number, now: number): void {
    const isDue = now - (this.clearedAt.get(providerId) ?? -Infinity) >= QUIET_MS;
    if (!isDue && !this.marked.has(providerId)) return;
    this.clearedAt.set(providerId, now);
    this.note(providerId, (id) => this.credentials.noteAccepted(id));
  }

  /** Tokens of a pool are marked one by one where they are taken from it. */
  private note(providerId: number, write: (id: string) => Promise<void>): void {
    const credential = this.credentials.resolve(providerId);
    if (credential === null || credential.kind === 'oauth-pool') return;
    write(credential.id).catch((error: unknown) =>
      this.logger.warn('the state of a credential was not noted', { error }),
    );
  }
}

interface ToldLane {
  readonly at: number;
  /** Other models were served with the same credential meanwhile. */
  isAlone: boolean;
}

const nameOf = ({ upstreamModel, region }: LaneView): string => `${upstreamModel} ${region}`;
