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
  judgeAnswer,
  type OperationName,
  type PreparedCall,
  type SupplierStyle,
  type WireDialect,
} from '../suppliers/kit';
import { laneFacts } from '../../vendors';
import { SupplierStyles } from '../suppliers/registry';
import { SupplierExchange, type WholeAnswer } from '../suppliers/supplier-exchange';
import { unwrappingFor } from '../suppliers/unwrapping';
import { lackOf, probeBody, PROBED_OPERATIONS } from './probe-bodies';
import { connectionFailure, type ProbeFailure } from './probe-failure';

export interface ProbeInput {
  readonly provider: ProviderView;
  /** The supplier calls it like this. */
  readonly model: string;
  readonly region: string;
  /** Left out, it is the first that its style serves. */
  readonly operation?: OperationName | undefined;
  /** What was typed in; left out, the stored one of this provider. */
  readonly credential?: Credential | undefined;
  /** The provider as it is stored: only where it is asked goes its secret. */
  readonly stored?: ProviderView | undefined;
}

export interface ProbeResult {
  readonly ok: boolean;
  readonly failure: ProbeFailure | null;
  /** The supplier's or the network's own words, without secrets. */
  readonly message: string | null;
  readonly status: number | null;
  readonly latencyMs: number;
  /** The request went here. */
  readonly address: string | null;
}

interface Probe {
  readonly style: SupplierStyle;
  readonly dialect: WireDialect;
  readonly operation: OperationName;
  readonly body: Record<string, unknown>;
  readonly credential: Credential | null;
  readonly call: PreparedCall;
}

const DEADLINE_MS = 10_000;
const LARGEST_ANSWER = 1024 * 1024;

/**
 * Asks a supplier for a word, to see whether it can be reached and used as it is described. An administrator asks, at the
 * operator's own cost; the address goes through the same guard as every call.
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
    const begun = monotonicMs();
    const ended = (result: Omit<ProbeResult, 'latencyMs' | 'ok'>): ProbeResult => ({
      ok: result.failure === null,
      ...result,
      latencyMs: Math.round(monotonicMs() - begun),
    });
    const checked = this.guard.checkBaseUrl(input.provider.baseUrl);
    if (!checked.ok)
      return ended({
        failure: 'address',
        message: `The address ${checked.error}.`,
        status: null,
        address: null,
      });
    const probe = this.prepare(input);
    if (typeof probe === 'string')
      return ended({ failure: 'configuration', message: probe, status: null, address: null });
    const { call, style, operation } = probe;
    const secrets = new CallSecrets();
    secrets.add(probe.credential, call.headers);
    const address = `${call.url.origin}${call.url.pathname}`;
    try {
      const egress = this.egressFor(input);
      const exchange = new SupplierExchange(unwrappingFor(style, { operation, stream: false })).begin(
        (handler) =>
          this.transport.dispatch(
            { ...call, egress, firstByteMs: DEADLINE_MS, totalMs: DEADLINE_MS },
            handler,
          ),
      );
      await exchange.head;
      const answer = await exchange.complete(LARGEST_ANSWER);
      return ended({ ...judged(probe, answer, secrets), status: answer.status, address });
    } catch (error) {
      const { failure, message } = connectionFailure(error);
      return ended({ failure, message: secrets.blankedText(message), status: null, address });
    }
  }

  private prepare(input: ProbeInput): Probe | string {
    const { provider, model, operation, credential, stored } = input;
    let style: SupplierStyle;
    try {
      style = this.styles.of(provider);
    } catch (error) {
      if (error instanceof Fault) return `There is no style "${provider.style}".`;
      throw error;
    }
    const wanted = operation === undefined ? PROBED_OPERATIONS : [operation];
    for (const one of wanted) {
      const dialect = this.styles.dialectFor(provider, one);
      const body = dialect && probeBody(dialect, model);
      if (dialect === undefined || body === undefined) continue;
      const secret = credential ?? this.storedFor(provider, stored);
      if (secret === null && style.needsCredential(provider)) return 'A secret is needed: type it in.';
      const asked = { style, dialect, operation: one, body, credential: secret };
      try {
        return { ...asked, call: callOf(input, asked) };
      } catch (error) {
        if (error instanceof Fault) return error.humanMessage;
        throw error;
      }
    }
    return `This style does not serve ${wanted.join(', ')}.`;
  }

  /** As it is described, with the certificate that is stored for the same address. */
  private egressFor({ provider, stored }: ProbeInput): EgressTerms | undefined {
    const isStored = stored !== undefined && originsOf(stored) === originsOf(provider);
    const { identity } = (isStored ? this.credentials.egressOf(stored) : undefined) ?? {};
    return egressTerms(provider.settings, identity ?? null);
  }

  /** A stored secret goes nowhere but where it was entered for. */
  private storedFor(provider: ProviderView, stored: ProviderView | undefined): Credential | null {
    if (stored === undefined || originsOf(stored) !== originsOf(provider)) return null;
    const { first, pool } = this.credentials.at(provider);
    return first ?? pool[0]?.token ?? null;
  }
}

function callOf(
  { provider, model, region }: ProbeInput,
  { style, dialect, operation, body, credential }: Omit<Probe, 'call'>,
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

type Judgement = Pick<ProbeResult, 'failure' | 'message'>;

function judged({ style, dialect }: Probe, answer: WholeAnswer, secrets: CallSecrets): Judgement {
  if (answer.status >= 300 && answer.status < 400)
    return { failure: 'shape', message: 'The supplier answered with a redirect, which is not followed.' };
  if (answer.status >= 400) {
    const { kind, message } = judgeAnswer(style, answer, secrets);
    return { failure: byKind[kind] ?? 'request', message: message === '' ? null : message };
  }
  const lack = lackOf(dialect, jsonOf(answer.body));
  if (lack === undefined) return { failure: null, message: null };
  return { failure: 'shape', message: `The answer has no list "${lack}".` };
}

function jsonOf(body: Buffer): unknown {
  try {
    return parseJsonText(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
