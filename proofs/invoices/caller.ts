import type { CallDialect, CallSeen } from './evidence';
import { type PlannedInvoiceCall, SECRET } from './calls';
import { eventsOf, readStream, readComplete } from './audit/response-reader';

const paths: Readonly<Record<CallDialect, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};
const terminators: Readonly<Record<CallDialect, RegExp>> = {
  chat: /^data: \[DONE\]$/m,
  messages: /^event: message_stop$/m,
  responses: /^event: response\.completed$/m,
};
const DEADLINE_MS = 30_000;
/** A supplier that is silent for this long has stalled. */
const SILENCE_MS = 400;

/** Makes one call as any client would and records the response. */
export async function makeCall(url: string, planned: PlannedInvoiceCall, key: string): Promise<CallSeen> {
  const { number, twin, dialect, model, form } = planned;
  const body = JSON.stringify(planned.body);
  const rewritten = planned.rewritten === null ? null : JSON.stringify(planned.rewritten);
  const abortController = new AbortController();
  const answer = await fetch(url + paths[dialect], {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body,
    signal: AbortSignal.any([abortController.signal, AbortSignal.timeout(DEADLINE_MS)]),
  });
  const text = form === 'left' ? await readUntilSilent(answer, abortController) : await answer.text();
  return {
    number,
    twin,
    dialect,
    model,
    form,
    key,
    requestBytes: Buffer.byteLength(rewritten ?? body),
    hidden: rewritten === null ? null : SECRET,
    status: answer.status,
    requestId: answer.headers.get('x-request-id') ?? '',
    ended: answer.status === 200 && (form === 'whole' || terminators[dialect].test(text)),
    toldUsd: answer.headers.get('x-svc-cost-usd'),
    textBytes: answer.status === 200 ? bytesRead(planned, text) : 0,
  };
}

function bytesRead({ dialect, form }: PlannedInvoiceCall, text: string): number {
  return (form === 'whole' ? readComplete(dialect, text) : readStream(dialect, eventsOf(text))).textBytes;
}

/** Reads until nothing arrives for a while, then disconnects. */
async function readUntilSilent(answer: Response, leaving: AbortController): Promise<string> {
  let text = '';
  let silence: NodeJS.Timeout | undefined;
  const wait = (): void => {
    clearTimeout(silence);
    silence = setTimeout(() => leaving.abort(), SILENCE_MS);
  };
  const decoder = new TextDecoder();
  try {
    for await (const chunk of answer.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      wait();
    }
  } catch (error) {
    if (!leaving.signal.aborted) throw error;
  } finally {
    clearTimeout(silence);
  }
  return text;
}
