import { Injectable } from '@nestjs/common';
import { type Credential, CredentialStore, type LaneView } from '../../catalogue';
import { fault, type HoldProof, type MaybePromise } from '../../kernel';
import {
  type SupplierCall,
  type SupplierHandler,
  SupplierTransport,
  type SupplierRequest,
} from '../../platform';
import { dialects, type Dropped, type SupplierError } from '../../protocol';
import {
  CallSecrets,
  judgeErrorResponse,
  type StyleCall,
  type PreparedStyleCall,
  type CoreStyle,
  redactedError,
  type WireDialect,
} from './kit';
import { PooledCall } from './native-oauth/pooled-call';
import { TokenPool } from './native-oauth/token-pool';
import { SupplierStyles } from './registry';
import { type ResponseHead, SupplierExchange } from './supplier-exchange';
import { unwrapperFor } from './response-unwrapper';

/** Deadlines of a call, and a check directly before sending whether it is still wanted. */
export type CallDeadlines = Pick<SupplierRequest, 'firstByteMs' | 'idleMs' | 'totalMs' | 'changedMind'>;

export type SupplierCallInput = Omit<StyleCall, 'credential' | 'now'>;

export interface SentCall {
  readonly exchange: SupplierExchange;
  readonly dialect: WireDialect;
  readonly dropped: readonly Dropped[];
  /** Secrets to be redacted from a failed response before it is passed on. */
  readonly secrets: CallSecrets;
  judge(head: ResponseHead, body: Buffer): SupplierError;
  /** The error that a body with a successful status reports, if any. */
  errorIn(head: ResponseHead, body: unknown): SupplierError | undefined;
}

@Injectable()
export class SupplierClient {
  constructor(
    private readonly transport: SupplierTransport,
    private readonly styles: SupplierStyles,
    private readonly credentials: CredentialStore,
    private readonly tokens: TokenPool,
  ) {}

  /**
   * Sends a call with the supplier's secret; the hold proves that money is reserved. Throws faults that occur before
   * sending; asynchronous only if a token pool has to renew a token.
   */
  open(_hold: HoldProof, input: SupplierCallInput, deadlines: CallDeadlines): MaybePromise<SentCall> {
    const { provider } = input.lane;
    const style = this.styles.of(provider);
    if (style.credential === 'oauth-pool') return this.openPooled(style, input, deadlines);
    const credential = this.credentialFor(style, input.lane);
    const prepared = prepare(style, input, credential);
    const secrets = new CallSecrets();
    secrets.add(credential, prepared.headers);
    return sendCall(style, input, { prepared, secrets }, (handler) =>
      this.send(input, prepared, deadlines, handler),
    );
  }

  private async openPooled(
    style: CoreStyle,
    input: SupplierCallInput,
    deadlines: CallDeadlines,
  ): Promise<SentCall> {
    const { provider } = input.lane;
    const lease = await this.tokens.take(provider);
    try {
      const first = prepare(style, input, lease.token);
      const secrets = new CallSecrets();
      return sendCall(style, input, { prepared: first, secrets }, (handler) =>
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
    { url, method, headers, body }: PreparedStyleCall,
    deadlines: CallDeadlines,
    handler: SupplierHandler,
  ): SupplierCall {
    const { firstByte, idle, total } = lane.provider.timeouts;
    const request = {
      url,
      method,
      headers,
      body,
      firstByteMs: firstByte ?? deadlines.firstByteMs,
      idleMs: idle ?? deadlines.idleMs,
      totalMs: total ?? deadlines.totalMs,
      changedMind: deadlines.changedMind,
      egress: this.credentials.egressOf(lane.provider),
    };
    return this.transport.dispatch(request, handler);
  }

  private credentialFor(style: CoreStyle, { provider }: LaneView): Credential | null {
    const { first, state } = this.credentials.credentialsFor(provider);
    if (first !== null) return first;
    // A configured but unreadable secret is an error: the call is not sent without it.
    if (state === 'missing' && !style.needsCredential(provider)) return null;
    throw fault('configuration_error', { details: { provider: provider.name, credential: state } });
  }
}

/** Errors in the dialect's own format; a style reads refusals that are specific to a supplier. */
const dialectError = (dialect: WireDialect, body: unknown): SupplierError | undefined =>
  dialect === 'responses' || dialect === 'messages' ? dialects[dialect].readError(body) : undefined;

const prepare = (
  style: CoreStyle,
  input: SupplierCallInput,
  credential: Credential | null,
): PreparedStyleCall => style.prepare({ ...input, credential, now });

const now = (): Date => new Date();

function sendCall(
  style: CoreStyle,
  { operation, stream, wire: dialect }: SupplierCallInput,
  { prepared: { dropped }, secrets }: { readonly prepared: PreparedStyleCall; readonly secrets: CallSecrets },
  dispatch: (handler: SupplierHandler) => SupplierCall,
): SentCall {
  return {
    exchange: new SupplierExchange(unwrapperFor(style, { operation, stream })).start(dispatch),
    dialect,
    dropped,
    secrets,
    judge: (head, body) => judgeErrorResponse(style, { ...head, body }, secrets),
    errorIn: ({ headers }, body) => {
      const error = style.readError(body, headers) ?? dialectError(dialect, body);
      return error && redactedError(secrets, error);
    },
  };
}
