import { Injectable } from '@nestjs/common';
import { type Credential, CredentialStore, type LaneView } from '../../catalogue';
import { fault, type HoldProof } from '../../kernel';
import { type SupplierCall, type SupplierHandler, SupplierPools, type SupplierRequest } from '../../platform';
import type { Dropped, SupplierError } from '../../protocol';
import {
  judgeAnswer,
  type OutgoingCall,
  type PreparedCall,
  type SupplierStyle,
  type UsageHints,
  type WireDialect,
} from './kit';
import { PooledCall } from './native-oauth/pooled-call';
import { TokenPool } from './native-oauth/token-pool';
import { SupplierStyles } from './registry';
import { type AnswerHead, SupplierExchange } from './supplier-exchange';

/** How long a call may take, and whether it is still to be sent once it can be. */
export type CallDeadlines = Pick<SupplierRequest, 'firstByteMs' | 'idleMs' | 'totalMs' | 'changedMind'>;

/** A call without what this client adds: the secret and the time. */
export type SupplierCallInput = Omit<OutgoingCall, 'credential' | 'now'>;

export interface SentCall {
  readonly exchange: SupplierExchange;
  /** What the answer is written in. */
  readonly dialect: WireDialect;
  readonly usage: UsageHints;
  /** What of the body the supplier did not get. */
  readonly dropped: readonly Dropped[];
  /** What a refusal means. */
  judge(head: AnswerHead, body: Buffer): SupplierError;
}

/** Sends requests to suppliers over pools that outlive them. */
@Injectable()
export class SupplierClient {
  constructor(
    private readonly pools: SupplierPools,
    private readonly styles: SupplierStyles,
    private readonly credentials: CredentialStore,
    private readonly tokens: TokenPool,
  ) {}

  /**
   * Sends a call in the way of its supplier, with the supplier's secret. It takes proof of a hold, so that no route
   * can reach a supplier for which no money was set aside. Rejects with a fault before anything was
   * sent; what happens afterwards is told by the exchange. The provider's own deadlines come before the given ones.
   */
  async open(_hold: HoldProof, input: SupplierCallInput, deadlines: CallDeadlines): Promise<SentCall> {
    const { provider } = input.lane;
    const style = this.styles.of(provider);
    const dialect = style.operations(provider)[input.operation];
    if (dialect === undefined) throw notServed(provider.name, input.operation);
    const prepare = (credential: Credential | null): PreparedCall =>
      style.prepare({ ...input, credential, now: new Date() });
    const send = ({ dropped: _, ...request }: PreparedCall, handler: SupplierHandler): SupplierCall =>
      this.pools.dispatch({ ...request, ...deadlinesOf(provider, deadlines) }, handler);
    const lease = style.credential === 'oauth-pool' ? await this.tokens.take(provider) : undefined;
    try {
      const first = prepare(lease?.token ?? this.credentialFor(style, input.lane));
      const exchange = new SupplierExchange({
        ...(input.stream && style.unframer ? { unframer: style.unframer() } : {}),
      }).begin((handler) =>
        lease === undefined
          ? send(first, handler)
          : new PooledCall(provider, this.tokens, handler, (token, listener) =>
              send(token === lease.token ? first : prepare(token), listener),
            ).begin(lease),
      );
      return {
        exchange,
        dialect,
        dropped: first.dropped,
        usage: style.usage(provider),
        judge: (head, body) => judgeAnswer(style, { ...head, body }),
      };
    } catch (error) {
      lease?.release();
      throw error;
    }
  }

  private credentialFor(style: SupplierStyle, { provider }: LaneView): Credential | null {
    const credential = this.credentials.resolve(provider.id);
    if (credential !== null) return credential;
    const state = this.credentials.stateOf(provider.id);
    // A secret that cannot be read was meant to be used: going without it would be a surprise.
    if (state === 'missing' && !style.needsCredential(provider)) return null;
    throw fault('configuration_error', { details: { provider: provider.name, credential: state } });
  }
}

const notServed = (provider: string, operation: string): Error =>
  fault('configuration_error', { details: { provider, operation } });

function deadlinesOf({ timeouts }: LaneView['provider'], usual: CallDeadlines): CallDeadlines {
  return {
    ...usual,
    firstByteMs: timeouts.firstByte ?? usual.firstByteMs,
    idleMs: timeouts.idle ?? usual.idleMs,
    totalMs: timeouts.total ?? usual.totalMs,
  };
}
