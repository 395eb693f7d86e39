import type { ProviderView, TokenCredential } from '../../../catalogue';
import type { SupplierCall, SupplierHandler } from '../../../platform';
import type { TokenLease, TokenPool } from './token-pool';

type SendWithToken = (token: TokenCredential, handler: SupplierHandler) => SupplierCall;

/** Equal to the number of lanes tried; if all tokens are refused, the request itself is the cause. */
const MAX_TOKENS_PER_CALL = 3;

/**
 * A call to a supplier with a pool of tokens; repeated with the next token after a rejected one, unnoticed by the
 * caller. A rejected token does not affect the lane's health.
 */
export class PooledCall implements SupplierCall {
  private current: SupplierCall | null = null;
  private reason: Error | null = null;
  private tries = 0;
  /** True while switching to the next OAuth token, when no call is in flight. */
  private isBetweenTokens = false;

  constructor(
    private readonly provider: ProviderView,
    private readonly pool: TokenPool,
    private readonly handler: SupplierHandler,
    private readonly send: SendWithToken,
  ) {}

  get hasStarted(): boolean {
    return this.current?.hasStarted ?? false;
  }

  begin(lease: TokenLease): this {
    this.tries += 1;
    try {
      this.current = this.send(lease.token, this.listener(lease));
      return this;
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  abort(reason: Error): void {
    this.reason ??= reason;
    if (this.isBetweenTokens) this.fail(reason);
    else this.current?.abort(reason);
  }

  pause(): void {
    this.current?.pause();
  }

  resume(): void {
    this.current?.resume();
  }

  private listener(lease: TokenLease): SupplierHandler {
    const { handler } = this;
    let refused = false;
    return {
      onHead: (status, headers) => {
        const seconds = Number(headers['retry-after']);
        lease.answered(status, Number.isFinite(seconds) && seconds > 0 ? seconds : null);
        refused = (status === 401 || status === 429) && this.canTryAnother();
        if (refused) void this.retry(lease);
        else handler.onHead?.(status, headers);
      },
      onData: (piece) => {
        if (!refused) handler.onData?.(piece);
      },
      onEnd: () => {
        lease.release();
        if (!refused) handler.onEnd?.();
      },
      onBroken: (error) => {
        lease.release();
        if (!refused) handler.onBroken?.(error);
      },
    };
  }

  private canTryAnother(): boolean {
    return this.tries < MAX_TOKENS_PER_CALL && this.reason === null && this.pool.hasReady(this.provider);
  }

  private async retry(refused: TokenLease): Promise<void> {
    this.isBetweenTokens = true;
    this.current?.abort(new Error('the token was refused'));
    refused.release();
    try {
      const lease = await this.pool.take(this.provider);
      if (this.reason !== null) return lease.release();
      this.begin(lease);
      this.isBetweenTokens = false;
    } catch (error) {
      this.fail(error as Error);
    }
  }

  private fail(error: Error): void {
    if (!this.isBetweenTokens) return;
    this.isBetweenTokens = false;
    this.handler.onBroken?.(error);
  }
}
