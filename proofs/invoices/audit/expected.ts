import type { CallDialect, CallSeen, Evidence, JournalRequest } from '../evidence';
import { costOf, priceFor } from './price';
import {
  type AuditedResponse,
  asJson,
  eventsOf,
  readStream,
  readComplete,
  type ParsedUsage,
} from './response-reader';

/** Expected record of a call. */
export interface ExpectedCharge {
  readonly supplier: string;
  /** Number of suppliers that were called. */
  readonly tries: number;
  /** Whether one supplier started the response and another finished it. */
  readonly continued: boolean;
  readonly usage: ParsedUsage;
  readonly cost: bigint;
  readonly delivered: AuditedResponse;
}

const BYTES_PER_TOKEN = 4;
const DEADLINE_MS = 20_000;
const dialectOf: Readonly<Record<string, CallDialect>> = {
  '/v1/chat/completions': 'chat',
  '/v1/messages': 'messages',
  '/v1/responses': 'responses',
};

/**
 * Computes the charge by the rules: a complete response costs what the supplier reported. A broken one costs what was
 * reported at its start, plus one token per four unreported bytes; null if no lane answered.
 */
export async function expectedOf(
  call: CallSeen,
  supplierRequests: readonly JournalRequest[],
  evidence: Evidence,
): Promise<ExpectedCharge | null> {
  const startedRequests = supplierRequests.filter(({ status }) => status === 200);
  // A complete response is that of the last supplier; an incomplete one was not continued by another.
  const answeredRequest = call.ended ? startedRequests.at(-1) : startedRequests[0];
  if (answeredRequest === undefined) return null;
  const delivered = await repeatRequest(answeredRequest, evidence);
  const usage = usedBy(call, delivered);
  const cost = costOf(usage, priceFor(evidence.prices, call.model, answeredRequest.lane));
  const continued = call.form === 'stream' && call.ended && startedRequests.length > 1;
  return {
    supplier: answeredRequest.lane,
    tries: supplierRequests.length,
    continued,
    usage,
    cost,
    delivered,
  };
}

function usedBy(
  { requestBytes }: CallSeen,
  { textBytes, reported, startUsage: begun }: AuditedResponse,
): ParsedUsage {
  if (reported !== null) return reported;
  const outputTokens = Math.ceil(textBytes / BYTES_PER_TOKEN);
  if (begun !== null) return { ...begun, output: Math.max(begun.output, outputTokens) };
  const inputTokens = Math.ceil(requestBytes / BYTES_PER_TOKEN);
  return { input: inputTokens, output: outputTokens, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
}

/**
 * Repeats the request to the deterministic simulator under a model name without faults. Only the part of the response
 * that the journal reports as sent counts, and its usage report only if it was not withheld.
 */
async function repeatRequest(request: JournalRequest, { suppliers }: Evidence): Promise<AuditedResponse> {
  const dialect = dialectOf[request.path];
  const supplier = suppliers.find(({ name }) => name === request.lane);
  if (dialect === undefined || supplier === undefined || request.rawBody === null)
    throw new Error(`request ${request.id} of the journal cannot be repeated`);
  const body = asJson(JSON.parse(request.rawBody));
  const healthyBody = JSON.stringify({ ...body, model: 'sim-again' });
  const answer = await fetch(supplier.url + request.path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      ...(dialect === 'messages' ? { 'x-api-key': 'sim-audit' } : { authorization: 'Bearer sim-audit' }),
    },
    body: healthyBody,
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`asked again, the supplier refused: ${text}`);
  const response =
    body['stream'] === true
      ? readStream(dialect, eventsOf(text).slice(0, request.events))
      : readComplete(dialect, text);
  return request.faults.includes('wrong-usage') && !reportsTwice(body)
    ? { ...response, reported: null, startUsage: null }
    : response;
}

/** The journal names the kind of a fault, not its variant; a usage report that arrives twice is still a report. */
const reportsTwice = ({ model }: ReturnType<typeof asJson>): boolean => model === 'sim-twice';
