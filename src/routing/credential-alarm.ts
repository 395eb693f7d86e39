import { Injectable } from '@nestjs/common';
import { CredentialStore, type LaneView } from '../catalogue';
import { type Fault, monotonicMs, underlyingCause } from '../kernel';
import { Logger } from '../platform';
import { isAccountSpent } from '../protocol';

const QUIET_MS = 60_000;

/** Tells operators that a supplier refuses a credential: a line a minute at most, and a mark that `doctor` finds. */
@Injectable()
export class CredentialAlarm {
  /** Refused credentials by provider, and when that was last told. */
  private readonly refusedAt = new Map<number, number>();

  constructor(
    private readonly credentials: CredentialStore,
    private readonly logger: Logger,
  ) {}

  refused({ provider, upstreamModel: model, region }: LaneView, status: number | null, problem: Fault): void {
    const now = monotonicMs();
    if (now - (this.refusedAt.get(provider.id) ?? -Infinity) < QUIET_MS) return;
    this.refusedAt.set(provider.id, now);
    const what = isAccountSpent(problem)
      ? 'alert: our account at the supplier is spent or closed'
      : 'alert: the supplier refuses our credential';
    this.logger.error(what, {
      provider: provider.name,
      model,
      region,
      status,
      code: problem.code,
      words: underlyingCause(problem),
    });
    this.mark(provider.id, 'rejected');
  }

  accepted({ provider }: LaneView): void {
    if (this.refusedAt.size === 0 || !this.refusedAt.delete(provider.id)) return;
    this.logger.info('the supplier accepts our credential again', { provider: provider.name });
    this.mark(provider.id, 'ok');
  }

  /** Tokens of a pool are marked one by one where they are taken from it. */
  private mark(providerId: number, health: 'ok' | 'rejected'): void {
    const credential = this.credentials.resolve(providerId);
    if (credential === null || credential.kind === 'oauth-pool') return;
    this.credentials
      .noteHealth(credential.id, health)
      .catch((error: unknown) => this.logger.warn('the state of a credential was not noted', { error }));
  }
}
