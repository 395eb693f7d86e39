import { Injectable } from '@nestjs/common';
import {
  type Credential,
  CredentialStore,
  egressTerms,
  type LaneView,
  originsOf,
  type ProviderView,
} from '../../catalogue';
import { Fault, monotonicMs, parseJsonText, printedJsonObject } from '../../kernel';
import { AddressGuard, type EgressTerms, SupplierTransport } from '../../platform';
import {
  CallSecrets,
  judgeErrorResponse,
  type OperationName,
  type PreparedStyleCall,
  type CoreStyle,
  type WireDialect,
} from '../suppliers/kit';
import { laneFacts } from '../../vendors';
import { SupplierStyles } from '../suppliers/registry';
import { SupplierExchange, type SupplierResponse } from '../suppliers/supplier-exchange';
import { unwrapperFor } from '../suppliers/response-unwrapper';
import { missingList, probeBody, PROBED_OPERATIONS } from './probe-bodies';
import { connectionFailure, type ProbeFailure } from './probe-failure';

export interface ProbeInput {
  readonly provider: ProviderView;
  readonly model: string;
  readonly region: string;
  /** Defaults to the first probed operation that the style serves. */
  readonly operation?: OperationName | undefined;
  /** A newly entered credential; defaults to the stored one of this provider. */
  readonly credential?: Credential | undefined;
  /** The stored provider: its secret is sent only to its own address. */
  readonly stored?: ProviderView | undefined;
}

export interface ProbeResult {
  readonly ok: boolean;
  readonly failure: ProbeFailure | null;
  /** The message of the supplier or the network, without secrets. */
  readonly message: string | null;
  readonly status: number | null;
  readonly latencyMs: number;
  /** URL of the request, without its query. */
  readonly address: string | null;
}

interface PreparedProbe {
  readonly style: CoreStyle;
  readonly dialect: WireDialect;
  readonly operation: OperationName;
  readonly body: Record<string, unknown>;
  readonly credential: Credential | null;
  readonly call: PreparedStyleCall;
}

const DEADLINE_MS = 10_000;
const MAX_RESPONSE_BYTES = 1024 * 1024;

/**
 * Sends a minimal request to a supplier to test whether it can be used as configured. Started by an administrator at
 * the operator's cost; the address passes the same guard as every call.
 */
@Injectable()
export class SupplierProbe {
  constructor(
    private readonly transport: SupplierTransport,
    private readonly styles: SupplierStyles,
    private readonly credentials: CredentialStore,
    private readonly guard: AddressGuard,
  ) {}

  async run(input: ProbeInput): Promise<ProbeResult> {
    const startedAt = monotonicMs();
    const resultOf = (result: Omit<ProbeResult, 'latencyMs' | 'ok'>): ProbeResult => ({
      ok: result.failure === null,
      ...result,
      latencyMs: Math.round(monotonicMs() - startedAt),
    });
    const checked = this.guard.checkBaseUrl(input.provider.baseUrl);
    if (!checked.ok)
      return resultOf({
        failure: 'address',
        message: `The address ${checked.error}.`,
        status: null,
        address: null,
      });
    const probe = this.prepare(input);
    if (typeof probe === 'string')
      return resultOf({ failure: 'configuration', message: probe, status: null, address: null });
    const { call, style, operation } = probe;
    const secrets = new CallSecrets();
    secrets.add(probe.credential, call.headers);
    const address = `${call.url.origin}${call.url.pathname}`;
    try {
      const egress = this.egressFor(input);
      const exchange = new SupplierExchange(unwrapperFor(style, { operation, stream: false })).start(
        (handler) =>
          this.transport.dispatch(
            { ...call, egress, firstByteMs: DEADLINE_MS, totalMs: DEADLINE_MS },
            handler,
          ),
      );
      await exchange.head;
      const response = await exchange.readResponse(MAX_RESPONSE_BYTES);
      return resultOf({ ...judgeResponse(probe, response, secrets), status: response.status, address });
    } catch (error) {
      const { failure, message } = connectionFailure(error);
      return resultOf({ failure, message: secrets.redactText(message), status: null, address });
    }
  }

  private prepare(input: ProbeInput): PreparedProbe | string {
    const { provider, model, operation, credential, stored } = input;
    let style: CoreStyle;
    try {
      style = this.styles.of(provider);
    } catch (error) {
      if (error instanceof Fault) return `There is no style "${provider.style}".`;
      throw error;
    }
    const operations = operation === undefined ? PROBED_OPERATIONS : [operation];
    for (const candidate of operations) {
      const dialect = this.styles.dialectFor(provider, candidate);
      const body = dialect && probeBody(dialect, model);
      if (dialect === undefined || body === undefined) continue;
      const secret = credential ?? this.storedFor(provider, stored);
      if (secret === null && style.needsCredential(provider)) return 'A secret is needed: type it in.';
      const attempt = { style, dialect, operation: candidate, body, credential: secret };
      try {
        return { ...attempt, call: callOf(input, attempt) };
      } catch (error) {
        if (error instanceof Fault) return error.humanMessage;
        throw error;
      }
    }
    return `This style does not serve ${operations.join(', ')}.`;
  }

  /** The configured egress, with the stored certificate if the address is unchanged. */
  private egressFor({ provider, stored }: ProbeInput): EgressTerms | undefined {
    const isStored = stored !== undefined && originsOf(stored) === originsOf(provider);
    const { identity } = (isStored ? this.credentials.egressOf(stored) : undefined) ?? {};
    return egressTerms(provider.settings, identity ?? null);
  }

  /** The stored secret, only if the address is the one it was entered for. */
  private storedFor(provider: ProviderView, stored: ProviderView | undefined): Credential | null {
    if (stored === undefined || originsOf(stored) !== originsOf(provider)) return null;
    const { first, pool } = this.credentials.credentialsFor(provider);
    return first ?? pool[0]?.token ?? null;
  }
}

function callOf(
  { provider, model, region }: ProbeInput,
  { style, dialect, operation, body, credential }: Omit<PreparedProbe, 'call'>,
) {
  const lane: LaneView = {
    id: 0,
    provider,
    upstreamModel: model,
    region,
    priority: 0,
    weight: 1,
    retries: 0,
    facts: laneFacts(model, {}),
    wire: null,
  };
  return style.prepare({
    operation,
    wire: dialect,
    lane,
    credential,
    body: { kind: 'json', text: printedJsonObject(body) },
    stream: false,
    headers: {},
    sessionKey: null,
    now: () => new Date(),
  });
}

const byKind: Readonly<Record<string, ProbeFailure>> = {
  auth: 'credentials',
  account: 'credentials',
  rate_limit: 'limited',
  overloaded: 'supplier',
  not_found: 'model',
};

type ProbeVerdict = Pick<ProbeResult, 'failure' | 'message'>;

function judgeResponse(
  { style, dialect }: PreparedProbe,
  response: SupplierResponse,
  secrets: CallSecrets,
): ProbeVerdict {
  if (response.status >= 300 && response.status < 400)
    return { failure: 'shape', message: 'The supplier answered with a redirect, which is not followed.' };
  if (response.status >= 400) {
    const { kind, message } = judgeErrorResponse(style, response, secrets);
    return { failure: byKind[kind] ?? 'request', message: message === '' ? null : message };
  }
  const missing = missingList(dialect, jsonOf(response.body));
  if (missing === undefined) return { failure: null, message: null };
  return { failure: 'shape', message: `The answer has no list "${missing}".` };
}

function jsonOf(body: Buffer): unknown {
  try {
    return parseJsonText(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
