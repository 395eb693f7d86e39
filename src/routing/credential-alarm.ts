import { Injectable } from '@nestjs/common';
import { CredentialStore, type LaneView } from '../catalogue';
import { type Fault, MINUTE_MS, monotonicMs, underlyingCause } from '../kernel';
import { Logger } from '../platform';
import { isAccountSpent } from '../protocol';

const QUIET_MS = MINUTE_MS;

const SPENT = 'alert: our account at the supplier is spent or closed';

/**
 * Alerts operators when a supplier refuses a credential, at most once per minute and lane, and marks the credential for
 * `doctor`. If other models of the provider are served with it, only the one model counts as refused.
 */
@Injectable()
export class CredentialAlarm {
  private readonly refusedLanes = new Map<number, Map<string, RefusedLane>>();
  private readonly providerNames = new Map<number, string>();
  private readonly acceptedAt = new Map<number, number>();
  private readonly markedProviders = new Set<number>();
  /** When each provider's mark was last cleared: another node, or this one before a restart, can have set it. */
  private readonly clearedAt = new Map<number, number>();

  constructor(
    private readonly credentials: CredentialStore,
    private readonly logger: Logger,
  ) {}

  refused(lane: LaneView, status: number | null, problem: Fault): void {
    const { provider, upstreamModel: model, region } = lane;
    const now = monotonicMs();
    const lanes = this.refusedLanes.get(provider.id) ?? new Map<string, RefusedLane>();
    const previous = lanes.get(nameOf(lane));
    if (now - (previous?.at ?? -Infinity) < QUIET_MS) return;
    // A spent account affects all its models.
    const isSpent = isAccountSpent(problem);
    const isRecentlyAccepted = now - (this.acceptedAt.get(provider.id) ?? -Infinity) < QUIET_MS;
    const isModelOnly = !isSpent && (isRecentlyAccepted || previous?.isModelOnly === true);
    this.providerNames.set(provider.id, provider.name);
    this.refusedLanes.set(provider.id, lanes.set(nameOf(lane), { at: now, isModelOnly: isModelOnly }));
    const credentialText = isModelOnly ? 'our credential for this model' : 'our credential';
    this.logger.error(isSpent ? SPENT : `alert: the supplier refuses ${credentialText}`, {
      provider: provider.name,
      model,
      region,
      status,
      code: problem.code,
      cause: underlyingCause(problem),
    });
    if (isModelOnly || this.markedProviders.has(provider.id)) return;
    this.markedProviders.add(provider.id);
    this.updateHealth(provider.id, (id) => this.credentials.setHealth(id, 'rejected'));
  }

  states(): { readonly provider: string; readonly refused: number }[] {
    return [...this.providerNames].map(([id, provider]) => ({
      provider,
      refused: this.refusedLanes.get(id)?.size ?? 0,
    }));
  }

  accepted(lane: LaneView): void {
    const { provider, upstreamModel: model } = lane;
    const now = monotonicMs();
    this.acceptedAt.set(provider.id, now);
    this.clearMark(provider.id, now);
    const lanes = this.refusedLanes.get(provider.id);
    if (lanes === undefined) return;
    const wasRefused = lanes.delete(nameOf(lane));
    if (lanes.size === 0) this.refusedLanes.delete(provider.id);
    for (const other of lanes.values()) other.isModelOnly = true;
    const wasMarked = this.markedProviders.delete(provider.id);
    if (wasRefused || wasMarked)
      this.logger.info('the supplier accepts our credential again', { provider: provider.name, model });
  }

  /** Clears the mark immediately if this node set it, otherwise once a minute. */
  private clearMark(providerId: number, now: number): void {
    const isDue = now - (this.clearedAt.get(providerId) ?? -Infinity) >= QUIET_MS;
    if (!isDue && !this.markedProviders.has(providerId)) return;
    this.clearedAt.set(providerId, now);
    this.updateHealth(providerId, (id) => this.credentials.clearRejected(id));
  }

  /** Tokens of a pool are marked individually when they are taken from it. */
  private updateHealth(providerId: number, write: (id: string) => Promise<void>): void {
    const credential = this.credentials.resolve(providerId);
    if (credential === null || credential.kind === 'oauth-pool') return;
    write(credential.id).catch((error: unknown) =>
      this.logger.warn('the state of a credential was not noted', { error }),
    );
  }
}

interface RefusedLane {
  readonly at: number;
  /** Whether other models were served with the same credential meanwhile. */
  isModelOnly: boolean;
}

const nameOf = ({ upstreamModel, region }: LaneView): string => `${upstreamModel} ${region}`;
