import type { CallDialect, CallSeen, Evidence, SupplierRequest } from '../evidence';
import { costOf, priceFor } from './price';
import { type AnswerRead, asJson, eventsOf, readStream, readWhole, type Reported } from './reading';

/** A call has to be on record with this. */
export interface Expected {
  readonly supplier: string;
  /** So many suppliers were asked. */
  readonly tries: number;
  /** Begun by one supplier and brought to its end by another. */
  readonly continued: boolean;
  readonly used: Reported;
  readonly cost: bigint;
  readonly delivered: AnswerRead;
}

const BYTES_PER_TOKEN = 4;
const DEADLINE_MS = 20_000;
const dialectOf: Readonly<Record<string, CallDialect>> = {
  '/v1/chat/completions': 'chat',
  '/v1/messages': 'messages',
  '/v1/responses': 'responses',
};

/**
 * The charge by the rules. A complete answer costs what the supplier reported. A broken one costs what was reported
 * at its start, and a token for every four bytes of the unreported rest. Null: no lane answered.
 */
export async function expectedOf(
  call: CallSeen,
  asked: readonly SupplierRequest[],
  evidence: Evidence,
): Promise<Expected | null> {
  const begun = asked.filter(({ status }) => status === 200);
  // An answer that came to its end is that of the last supplier; one that did not could not be continued by another.
  const answered = call.ended ? begun.at(-1) : begun[0];
  if (answered === undefined) return null;
  const delivered = await askAgain(answered, evidence);
  const used = usedBy(call, delivered);
  const cost = costOf(used, priceFor(evidence.prices, call.model, answered.lane));
  const continued = call.form === 'stream' && call.ended && begun.length > 1;
  return { supplier: answered.lane, tries: asked.length, continued, used, cost, delivered };
}

function usedBy({ requestBytes }: CallSeen, { textBytes, reported, begun }: AnswerRead): Reported {
  if (reported !== null) return reported;
  const written = Math.ceil(textBytes / BYTES_PER_TOKEN);
  if (begun !== null) return { ...begun, output: Math.max(begun.output, written) };
  const read = Math.ceil(requestBytes / BYTES_PER_TOKEN);
  return { input: read, output: written, cacheRead: 0, cacheWrite: 0, reasoning: 0 };
}

/**
 * The simulated supplier is deterministic. It is asked again for the same bytes, by a name without faults. Of that
 * answer counts the part that the journal says was sent, and its report only if it was not withheld.
 */
async function askAgain(request: SupplierRequest, { suppliers }: Evidence): Promise<AnswerRead> {
  const dialect = dialectOf[request.path];
  const supplier = suppliers.find(({ name }) => name === request.lane);
  if (dialect === undefined || supplier === undefined || request.rawBody === null)
    throw new Error(`request ${request.id} of the journal cannot be repeated`);
  const body = asJson(JSON.parse(request.rawBody));
  const unharmed = JSON.stringify({ ...body, model: 'sim-again' });
  const answer = await fetch(supplier.url + request.path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'anthropic-version': '2023-06-01',
      ...(dialect === 'messages' ? { 'x-api-key': 'sim-audit' } : { authorization: 'Bearer sim-audit' }),
    },
    body: unharmed,
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`asked again, the supplier refused: ${text}`);
  const read =
    body['stream'] === true
      ? readStream(dialect, eventsOf(text).slice(0, request.events))
      : readWhole(dialect, text);
  return request.faults.includes('wrong-usage') && !isDouble(body)
    ? { ...read, reported: null, begun: null }
    : read;
}

/** The journal names the kind of a fault and not its variant; a report given twice is still a report. */
const isDouble = ({ model }: ReturnType<typeof asJson>): boolean => model === 'sim-twice';
