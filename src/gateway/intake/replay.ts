import { fault } from '../../kernel';
import type { Idempotency } from '../../web';
import type { Reply } from '../reply/reply';
import { replyCodec } from '../reply/reply-codec';
import type { Call } from './describe';
import type { Inbound } from './inbound';
import type { Work } from './work';

/** It is not asynchronous itself: a call without the header, or with a stream, waits for nothing. */
export function replayOr<T extends Reply | null>(
  idempotency: Idempotency,
  inbound: Inbound,
  { call, work }: { readonly call: Call; readonly work: Work },
  execute: () => Promise<T>,
): Promise<Reply | T> {
  if (inbound.headers['idempotency-key'] === undefined || call.stream) return execute();
  // A caller who timed out repeats the request and gets the answer that was paid for.
  work.detachFromCaller();
  return replayReplyOr(idempotency, inbound, call, execute);
}

async function replayReplyOr<T extends Reply | null>(
  idempotency: Idempotency,
  inbound: Inbound,
  call: Call,
  execute: () => Promise<T>,
): Promise<Reply> {
  const { requestId, caller, headers: given } = inbound;
  const asked = { requestId, keyId: caller.keyId, headers: given, content: () => contentOf(inbound) };
  const { answer, headers } = await idempotency.once(asked, call.operation.name, replyCodec, async () => {
    const reply = await execute();
    // Only a stream leaves without a reply, and streams do not come here.
    if (reply === null) throw fault('internal_error');
    return reply;
  });
  return headers === undefined ? answer : { ...answer, headers, facts: { ...answer.facts, costNano: 0n } };
}

/** A form is compared by its parts: its boundary changes with every sending. */
export function contentOf({ bytes, form }: Pick<Inbound, 'bytes' | 'form'>): readonly (string | Buffer)[] {
  if (form === null) return [bytes];
  const files = form.files.map((file) => [file.field, file.name, file.type, file.bytes.length]);
  return [JSON.stringify([form.fields, files]), ...form.files.map((file) => file.bytes)];
}
