import { Injectable } from '@nestjs/common';
import { type Credential, CredentialStore, type LaneView } from '../../catalogue';
import { fault, type HoldProof } from '../../kernel';
import {
  type SupplierCall,
  type SupplierHandler,
  SupplierTransport,
  type SupplierRequest,
} from '../../platform';
import { dialects, type Dropped, type SupplierError } from '../../protocol';
import {
  CallSecrets,
  judgeAnswer,
  type OutgoingCall,
  type PreparedCall,
  type SupplierStyle,
  redactedError,
  type WireDialect,
} from './kit';
import { PooledCall } from './native-oauth/pooled-call';
import { TokenPool } from './native-oauth/token-pool';
import { SupplierStyles } from './registry';
import { type AnswerHead, SupplierExchange } from './supplier-exchange';
import { unwrappingFor } from './unwrapping';

/** A call may take so long, and is asked whether it is still to be sent once it can be. */
export type CallDeadlines = Pick<SupplierRequest, 'firstByteMs' | 'idleMs' | 'totalMs' | 'changedMind'>;

/** A call without what this client adds: the secret and the time. */
export type SupplierCallInput = Omit<OutgoingCall, 'credential' | 'now'>;

export interface SentCall {
  readonly exchange: SupplierExchange;
  /** The answer is written in this dialect. */
  readonly dialect: WireDialect;
  /** The supplier did not get these parts of the body. */
  readonly dropped: readonly Dropped[];
  /** These secrets must not be passed on in the answer when it is a failure. */
  readonly secrets: CallSecrets;
  /** A refusal means this. */
  judge(head: AnswerHead, body: Buffer): SupplierError;
  /** A body with a successful status says that this went wrong, if it does. */
  errorIn(head: AnswerHead, body: unknown): SupplierError | undefined;
}

/** Sends requests to suppliers over a transport that outlives them. */
@Injectable()
export class SupplierClient {
  constructor(
    private readonly transport: SupplierTransport,
    private readonly styles: SupplierStyles,
    private readonly credentials: CredentialStore,
    private readonly tokens: TokenPool,
  ) {}

  /**
   * Sends a call with the supplier's secret. It requires proof of a hold, so that no route can call a supplier
   * without money set aside. Before sending it fails with a fault; later failures reach the exchange. The provider's
   * deadlines take precedence over the given ones. Only a token pool makes it asynchronous, for a renewal.
   */
  open(_hold: HoldProof, input: SupplierCallInput, deadlines: CallDeadlines): SentCall | Promise<SentCall> {
    const { provider } = input.lane;
    const style = this.styles.of(provider);
    if (style.credential === 'oauth-pool') return this.openPooled(style, input, deadlines);
    const credential = this.credentialFor(style, input.lane);
    const prepared = prepare(style, input, credential);
    const secrets = new CallSecrets();
    secrets.add(credential, prepared.headers);
    return sent(style, input, { prepared, secrets }, (handler) =>
      this.send(input, prepared, deadlines, handler),
    );
  }

  private async openPooled(
    style: SupplierStyle,
    input: SupplierCallInput,
    deadlines: CallDeadlines,
  ): Promise<SentCall> {
    const { provider } = input.lane;
    const lease = await this.tokens.take(provider);
    try {
      const first = prepare(style, input, lease.token);
      const secrets = new CallSecrets();
      return sent(style, input, { prepared: first, secrets }, (handler) =>
        new PooledCall(provider, this.tokens, handler, (token, listener) => {
          const prepared = token === lease.token ? first : prepare(style, input, token);
          secrets.add(token, prepared.headers);
          return this.send(input, prepared, deadlines, listener);
        }).begin(lease),
      );
    } catch (error) {
      lease.release();
      throw error;
    }
  }

  private send(
    { lane }: SupplierCallInput,
    { url, method, headers, body }: PreparedCall,
    usual: CallDeadlines,
    handler: SupplierHandler,
  ): SupplierCall {
    const { firstByte, idle, total } = lane.provider.timeouts;
    const request = {
      url,
      method,
      headers,
      body,
      firstByteMs: firstByte ?? usual.firstByteMs,
      idleMs: idle ?? usual.idleMs,
      totalMs: total ?? usual.totalMs,
      changedMind: usual.changedMind,
      egress: this.credentials.egressOf(lane.provider),
    };
    return this.transport.dispatch(request, handler);
  }

  private credentialFor(style: SupplierStyle, { provider }: LaneView): Credential | null {
    const { first, state } = this.credentials.at(provider);
    if (first !== null) return first;
    // A configured but unreadable secret is an error: the call is not sent without it.
    if (state === 'missing' && !style.needsCredential(provider)) return null;
    throw fault('configuration_error', { details: { provider: provider.name, credential: state } });
  }
}

/** A style reads refusals; a failed answer of a dialect has a form of its own. */
const ownError = (dialect: WireDialect, body: unknown): SupplierError | undefined =>
  dialect === 'responses' || dialect === 'messages' ? dialects[dialect].readError(body) : undefined;

const prepare = (
  style: SupplierStyle,
  input: SupplierCallInput,
  credential: Credential | null,
): PreparedCall => style.prepare({ ...input, credential, now });

const now = (): Date => new Date();

function sent(
  style: SupplierStyle,
  { operation, stream, wire: dialect }: SupplierCallInput,
  { prepared: { dropped }, secrets }: { readonly prepared: PreparedCall; readonly secrets: CallSecrets },
  dispatch: (handler: SupplierHandler) => SupplierCall,
): SentCall {
  return {
    exchange: new SupplierExchange(unwrappingFor(style, { operation, stream })).begin(dispatch),
    dialect,
    dropped,
    secrets,
    judge: (head, body) => judgeAnswer(style, { ...head, body }, secrets),
    errorIn: ({ headers }, body) => {
      const error = style.readError(body, headers) ?? ownError(dialect, body);
      return error && redactedError(secrets, error);
    },
  };
}
