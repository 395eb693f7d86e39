import { fault } from '../../kernel';
import type { Idempotency } from '../../web';
import type { Reply } from '../reply/reply';
import { replyCodec } from '../reply/reply-codec';
import type { GatewayCall } from './describe';
import type { Inbound } from './inbound';
import type { RequestWork } from './work';

/** Not async, so that a call without the header, or with a stream, waits for nothing. */
export function runOrReplay<T extends Reply | null>(
  idempotency: Idempotency,
  inbound: Inbound,
  { call, work }: { readonly call: GatewayCall; readonly work: RequestWork },
  execute: () => Promise<T>,
): Promise<Reply | T> {
  if (inbound.headers['idempotency-key'] === undefined || call.stream) return execute();
  // A caller who timed out can repeat the request and get the response that was charged.
  work.detachFromCaller();
  return runOrReplayReply(idempotency, inbound, call, execute);
}

async function runOrReplayReply<T extends Reply | null>(
  idempotency: Idempotency,
  inbound: Inbound,
  call: GatewayCall,
  execute: () => Promise<T>,
): Promise<Reply> {
  const { requestId, caller, headers: requestHeaders } = inbound;
  const request = {
    requestId,
    keyId: caller.keyId,
    headers: requestHeaders,
    content: () => contentOf(inbound),
  };
  const { answer, headers } = await idempotency.once(request, call.operation.name, replyCodec, async () => {
    const reply = await execute();
    // Only a stream ends without a reply, and streams do not reach this code.
    if (reply === null) throw fault('internal_error');
    return reply;
  });
  return headers === undefined ? answer : { ...answer, headers, facts: { ...answer.facts, costNano: 0n } };
}

/** A form is compared by its parts, as its boundary changes with every request. */
export function contentOf({ bytes, form }: Pick<Inbound, 'bytes' | 'form'>): readonly (string | Buffer)[] {
  if (form === null) return [bytes];
  const files = form.files.map((file) => [file.field, file.name, file.type, file.bytes.length]);
  return [JSON.stringify([form.fields, files]), ...form.files.map((file) => file.bytes)];
}
