import { setTimeout as delay } from 'node:timers/promises';
import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import {
  type CredentialHealth,
  CredentialStore,
  type PooledToken,
  type ProviderView,
  type TokenCredential,
  type TokenEvent,
  TokenEvents,
} from '../../../catalogue';
import { fault, type Fault, HOUR_MS, MINUTE_MS, monotonicMs } from '../../../kernel';
import { SupplierTransport } from '../../../platform';
import { renewToken } from './renewal';

/** Remaining lifetime below which a token is renewed before use; below EARLY_MS it is renewed in the background. */
const URGENT_MS = MINUTE_MS;
const EARLY_MS = 5 * MINUTE_MS;
const DEFAULT_REST_MS = 30_000;
const REJECTED_REST_MS = MINUTE_MS;
const MAX_REST_MS = HOUR_MS;
/** Time in seconds after which another node is allowed to renew the token. */
const RENEWAL_LEASE_SECONDS = 30;
const MAX_RENEWAL_WAIT_MS = 15_000;
const POLL_INTERVAL_MS = 200;

interface TokenState {
  inFlight: number;
  usedAt: number;
  restUntil: number;
  health: CredentialHealth;
  /** Replaces this access token of the catalogue's copy until the catalogue has a newer one. */
  renewed: { readonly from: string; readonly token: TokenCredential } | undefined;
  renewing: Promise<TokenCredential | Fault> | undefined;
}

export interface TokenLease {
  readonly token: TokenCredential;
  answered(status: number, retryAfterSeconds: number | null): void;
  release(): void;
}

/** A pool of tokens: takes the least used healthy token, and renews tokens before they expire. */
@Injectable()
export class TokenPool implements OnApplicationShutdown {
  private readonly logger = new Logger(TokenPool.name);
  private readonly states = new Map<string, TokenState>();
  /** Chain of event writes, which keeps events in order. */
  private pendingWrites: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: CredentialStore,
    private readonly events: TokenEvents,
    private readonly transport: SupplierTransport,
  ) {}

  /** Throws if no token of the provider can be used now. */
  async take(provider: ProviderView): Promise<TokenLease> {
    const tokens = this.store.credentialsFor(provider).pool;
    if (tokens.length === 0) throw fault('configuration_error', { details: { provider: provider.name } });
    const candidates = new Set(tokens);
    for (let pooled = this.choose(candidates); pooled !== undefined; pooled = this.choose(candidates)) {
      candidates.delete(pooled);
      // The token counts as used during a renewal, so that concurrent calls take another one.
      const release = this.startUse(pooled);
      const token = await this.freshToken(pooled);
      if (token !== undefined) return this.leaseOf(pooled, token, release);
      release();
    }
    throw this.noTokenFault(tokens);
  }

  hasReady(provider: ProviderView): boolean {
    return this.choose(new Set(this.store.credentialsFor(provider).pool)) !== undefined;
  }

  /** Finishes pending writes before the database closes. */
  async onApplicationShutdown(): Promise<void> {
    await this.pendingWrites;
  }

  /** The token with the fewest calls in progress; among equals, the least recently used. */
  private choose(tokens: ReadonlySet<PooledToken>): PooledToken | undefined {
    const now = monotonicMs();
    let best: PooledToken | undefined;
    for (const pooled of tokens) {
      const state = this.stateOf(pooled);
      if (state.restUntil > now) continue;
      const other = best && this.stateOf(best);
      const isBetter =
        other === undefined ||
        state.inFlight < other.inFlight ||
        (state.inFlight === other.inFlight && state.usedAt < other.usedAt);
      if (isBetter) best = pooled;
    }
    return best;
  }

  private async freshToken(pooled: PooledToken): Promise<TokenCredential | undefined> {
    const state = this.stateOf(pooled);
    const token = newestToken(pooled.token, state);
    const leftMs = token.expiresAt === undefined ? Infinity : token.expiresAt - Date.now();
    if (leftMs > EARLY_MS) return token;
    if (token.refreshToken === undefined) return leftMs > 0 ? token : this.rest(pooled, REJECTED_REST_MS);
    const renewal = this.renew(pooled);
    if (leftMs > URGENT_MS) return token;
    const renewed = await renewal;
    return 'accessToken' in renewed ? renewed : undefined;
  }

  private startUse(pooled: PooledToken): () => void {
    const state = this.stateOf(pooled);
    state.inFlight += 1;
    state.usedAt = monotonicMs();
    let released = false;
    return () => {
      if (!released) state.inFlight -= 1;
      released = true;
    };
  }

  private leaseOf(pooled: PooledToken, token: TokenCredential, release: () => void): TokenLease {
    const answered: TokenLease['answered'] = (status, seconds) => this.answered(pooled, status, seconds);
    return { token, answered, release };
  }

  private answered(pooled: PooledToken, status: number, retryAfterSeconds: number | null): void {
    const state = this.stateOf(pooled);
    if (status === 429) {
      const restMs = Math.min((retryAfterSeconds ?? DEFAULT_REST_MS / 1_000) * 1_000, MAX_REST_MS);
      this.rest(pooled, restMs);
      this.recordHealth(pooled, 'limited', {
        kind: 'limited',
        source: 'call',
        errorKind: '429',
        detail: `rests ${restMs} ms`,
      });
    } else if (status === 401) {
      this.rest(pooled, REJECTED_REST_MS);
      this.recordHealth(pooled, 'rejected', { kind: 'rejected', source: 'call', errorKind: '401' });
      // The access token can have expired earlier than announced.
      if (newestToken(pooled.token, state).refreshToken !== undefined) void this.renew(pooled);
    } else if (status < 400 && state.health !== 'ok') {
      const recovered = state.health !== 'unknown';
      this.recordHealth(pooled, 'ok', recovered ? { kind: 'recovered', source: 'call' } : undefined);
    }
  }

  /** At most one renewal per token at a time: on this node by `renewing`, on all nodes by a lease in the database. */
  private renew(pooled: PooledToken): Promise<TokenCredential | Fault> {
    const state = this.stateOf(pooled);
    state.renewing ??= this.renewOnce(pooled, state)
      .catch((error: unknown) => {
        this.logger.warn(`A token of "${pooled.provider.name}" could not be renewed: ${String(error)}`);
        this.rest(pooled, DEFAULT_REST_MS);
        return fault('native_backend_error', { cause: error });
      })
      .finally(() => {
        state.renewing = undefined;
      });
    return state.renewing;
  }

  private async renewOnce(pooled: PooledToken, state: TokenState): Promise<TokenCredential | Fault> {
    const previous = newestToken(pooled.token, state);
    const stored = await this.store.tryRenew(pooled, RENEWAL_LEASE_SECONDS);
    if (stored === null) return this.awaitOtherRenewal(pooled, previous);
    if (stored.accessToken !== previous.accessToken) {
      await this.store.releaseRenewal(stored.id);
      return this.adoptToken(pooled, stored);
    }
    const renewed = await renewToken(
      this.transport,
      { ...pooled, token: stored },
      { now: Date.now(), egress: this.store.egressOf(pooled.provider) },
    );
    if (!renewed.ok) {
      await this.store.releaseRenewal(stored.id);
      this.rest(pooled, REJECTED_REST_MS);
      const { code } = renewed.error;
      this.recordHealth(pooled, 'rejected', { kind: 'refresh-failed', source: 'refresh', errorKind: code });
      return renewed.error;
    }
    await this.store.saveRenewed(renewed.value, pooled.provider);
    this.recordHealth(pooled, 'ok', { kind: 'refreshed', source: 'refresh' });
    return this.adoptToken(pooled, renewed.value);
  }

  private async awaitOtherRenewal(
    pooled: PooledToken,
    previous: TokenCredential,
  ): Promise<TokenCredential | Fault> {
    const deadline = monotonicMs() + MAX_RENEWAL_WAIT_MS;
    while (monotonicMs() < deadline) {
      await delay(POLL_INTERVAL_MS, undefined, { ref: false });
      const current = await this.store.readToken(pooled.token.id, pooled.provider);
      if (current !== null && current.accessToken !== previous.accessToken)
        return this.adoptToken(pooled, current);
    }
    return fault('native_backend_error', { message: 'Another node did not finish renewing the token.' });
  }

  private adoptToken(pooled: PooledToken, token: TokenCredential): TokenCredential {
    const state = this.stateOf(pooled);
    state.renewed = { from: pooled.token.accessToken, token };
    state.restUntil = 0;
    return token;
  }

  private rest(pooled: PooledToken, milliseconds: number): undefined {
    this.stateOf(pooled).restUntil = monotonicMs() + milliseconds;
  }

  private noTokenFault(tokens: readonly PooledToken[]): Fault {
    const states = tokens.map((pooled) => this.stateOf(pooled));
    const waitMs = Math.min(...states.map(({ restUntil }) => restUntil)) - monotonicMs();
    const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1_000));
    const limited = states.some(({ health }) => health === 'limited');
    return fault(limited ? 'supplier_limit' : 'native_backend_error', { retryAfterSeconds });
  }

  /** Written in the background, so that calls never wait. */
  private recordHealth(
    { token, label, provider }: PooledToken,
    health: CredentialHealth,
    event: Pick<TokenEvent, 'kind' | 'source' | 'errorKind' | 'detail'> | undefined,
  ): void {
    const state = this.states.get(token.id);
    const changed = state?.health !== health;
    if (state) state.health = health;
    const write = async (): Promise<void> => {
      if (changed) await this.store.setHealth(token.id, health);
      if (event) {
        await this.events.record({
          ...event,
          credentialId: token.id,
          provider: provider.name,
          keyName: label,
        });
      }
    };
    this.pendingWrites = this.pendingWrites
      .then(write)
      .catch((error: unknown) =>
        this.logger.warn(`The health of a token could not be written: ${String(error)}`),
      );
  }

  private stateOf({ token }: PooledToken): TokenState {
    let state = this.states.get(token.id);
    if (state === undefined) {
      state = {
        inFlight: 0,
        usedAt: 0,
        restUntil: 0,
        health: 'unknown',
        renewed: undefined,
        renewing: undefined,
      };
      this.states.set(token.id, state);
    }
    return state;
  }
}

function newestToken(stored: TokenCredential, { renewed }: TokenState): TokenCredential {
  return renewed?.from === stored.accessToken ? renewed.token : stored;
}
